"""Sentences about the numbers of the lens 'Hybrids'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.hybrids import crossing, enlarging, time_to_accuracy
from vitviz.analysis.recipes import describe_recipe_differences
from vitviz.checkpoint_header import Header
from vitviz.config import ViTConfig
from vitviz.experiments.conv_nets import MODELS, TITLES
from vitviz.experiments.result import Result, describe_provenance
from vitviz.lessons.convolution_measures import list_accuracies
from vitviz.models import parameter_count
from vitviz.plots.hybrids import Course
from vitviz.probe.one_token import LARGER, OneToken
from vitviz.text import percent, percent_difference, plain, plural

VASWANI = "[Vaswani et al. 2017, equation 1](https://arxiv.org/abs/1706.03762)"
_PUBLISHED = ":material/menu_book: *Published results with larger models and datasets:*"
_XIAO = "[Xiao et al. 2021](https://arxiv.org/abs/2106.14881)"
_DOSOVITSKIY = "[Dosovitskiy et al. 2021, section 4.4](https://arxiv.org/abs/2010.11929)"
_WU = "[Wu et al. 2021](https://arxiv.org/abs/2103.15808)"
PUBLISHED_STEM = (
    f"{_PUBLISHED} {_XIAO}: with a convolutional stem, ViTs train more stably and gain 1 to 2 points on ImageNet-1k for"
    " the same multiply-adds."
)
PUBLISHED_TRAINING = (
    f"{_PUBLISHED} {_DOSOVITSKIY}: hybrids are slightly better than ViTs for little compute; the difference vanishes"
    " for larger models."
)
PUBLISHED_CONVOLUTIONS = (
    f"{_PUBLISHED} {_WU}: CvT computes queries, keys and values with convolutions and exceeds ViTs and ResNets of its"
    " time on ImageNet-1k with fewer parameters, also without position embeddings."
)
_LECTURE_ACCURACY = 97.04  # percent on MNIST's test images, as printed in the lecture


def format_field(config: ViTConfig, field_px: float) -> str:
    """Return a receptive field in image pixels: '9 × 9 px'; 'about …' if the stem enlarges the image first."""
    side = round(field_px)
    return f"{'' if enlarging(config) == 1 else 'about '}{side} × {side} px"


def describe_feature_maps(
    config: ViTConfig, maps: NDArray[np.floating], number: int, cell: tuple[int, int], field_px: float
) -> str:
    """Return shape, receptive field and sparsity of the feature maps (C, H, W) after a convolution, from 1."""
    entering_px = round(config.image_size * enlarging(config))
    enlarged = (
        ""
        if entering_px == config.image_size
        else f" (the image is enlarged to {entering_px} × {entering_px} px first)"
    )
    zero_maps = int((maps.max(axis=(1, 2)) == 0).sum())
    return (
        f"Convolution {number} outputs {maps.shape[0]} feature maps of {maps.shape[1]} × {maps.shape[2]}, each on its"
        f" own scale from 0. The outlined position, row {cell[0] + 1}, column {cell[1] + 1}, has a receptive field of"
        f" {format_field(config, field_px)}{enlarged}. ReLU sets {percent(float((maps == 0).mean()))} of the values to"
        f" 0; {plural(zero_maps, 'map is', 'maps are')} zero everywhere."
    )


def describe_tokens(
    config: ViTConfig,
    maps: NDArray[np.floating],
    tokens: NDArray[np.floating],
    cell: tuple[int, int],
    field_px: float,
) -> str:
    """Return how the last feature maps (C, H, W) become tokens (N, D), and the cost of the stem."""
    weights = parameter_count.parameters(config)
    adds = parameter_count.multiply_adds(config, config.image_size)
    channels, rows, cols = maps.shape
    return (
        f"A {channels} × {config.embed_dim} matrix maps each of the {rows} × {cols} positions to a token:"
        f" {plural(len(tokens), 'token')} of {tokens.shape[1]}. The outlined one, row {cell[0] + 1}, column"
        f" {cell[1] + 1}, has a receptive field of {format_field(config, field_px)}, not the {config.patch_size} ×"
        f" {config.patch_size} px of a patch. The stem holds"
        f" {percent(weights[parameter_count.EMBEDDING] / sum(weights.values()))} of the parameters and"
        f" {percent(adds[parameter_count.EMBEDDING] / sum(adds.values()))} of the multiply-adds."
    )


def describe_curves(courses: Sequence[Course], unit: str) -> str:
    """Return when the hybrid reaches the ViT's best accuracy, the final accuracies, and the last crossings."""
    by_family = {course.family: course for course in courses}
    hybrid, vit = by_family["Hybrid"], by_family["ViT"]
    best = float(vit.accuracy.max())
    hybrid_x = time_to_accuracy(hybrid.x, hybrid.accuracy, best)
    vit_x = time_to_accuracy(vit.x, vit.accuracy, best) or 0.0
    sentences = [
        f"The ViT reaches its best accuracy, {percent(best)}, after {vit_x:,.0f} {unit}; the hybrid reaches it"
        + (f" after {hybrid_x:,.0f}, {describe_speed(vit_x, hybrid_x)}." if hybrid_x else " never."),
        "Final accuracy: "
        + ", ".join(f"{course.family} {percent(float(course.accuracy[-1]))}" for course in courses)
        + ".",
    ]
    for family in ("CNN", "ViT"):
        if family in by_family:
            sentences.append(_describe_crossing(hybrid, by_family[family], unit))
    return " ".join(sentences)


def _describe_crossing(hybrid: Course, other: Course, unit: str) -> str:
    last = min(hybrid.x[-1], other.x[-1])
    lead = float(np.interp(last, hybrid.x, hybrid.accuracy) - np.interp(last, other.x, other.accuracy))
    leader = f"{'the hybrid' if lead > 0 else f'the {other.family}'} is ahead up to {last:,.0f} {unit}"
    point = crossing((hybrid.x, hybrid.accuracy), (other.x, other.accuracy))
    if not point:
        return f"Hybrid and {other.family} never cross: {leader}."
    return f"Hybrid and {other.family} last cross at {point.x:,.0f} {unit} ({percent(point.accuracy)}); then {leader}."


def describe_speed(vit: float, hybrid: float) -> str:
    """Return '3.1 times as soon' or '1.5 times as late', from what each model needs."""
    return f"{vit / hybrid:.1f} times as soon" if hybrid <= vit else f"{hybrid / vit:.1f} times as late"


def describe_trainings(headers: Mapping[str, Header], machines: Sequence[str]) -> str:
    """Return machines, seeds and differences of the trainings.

    Args:
        headers: by family.
        machines: on which they were trained.
    """
    trains = {family: header.train for family, header in headers.items() if header.train is not None}
    differences = describe_recipe_differences(trains)
    where = (
        f"All were trained on {plain(machines[0])}."
        if len(machines) == 1
        else f"Trained on different machines, so seconds are not compared: {'; '.join(map(plain, machines))}."
    )
    vit, hybrid = (headers[family].train for family in ("ViT", "Hybrid"))
    ratio = (vit.epochs or 0) / (hybrid.epochs or 1) if vit and hybrid else 1.0
    longer = (
        f" The ViT trains {ratio:.1f} times as many epochs as the hybrid, which delays its best accuracy."
        if ratio > 1
        else ""
    )
    return (
        f"{where} One seed each, recorded in the checkpoints."
        + (f" The trainings differ ({differences})." if differences else "")
        + f" The learning rate decays towards the end, so compare the final accuracies too.{longer}"
    )


def describe_one_token(net: OneToken) -> str:
    change = "changes no logit" if net.changed == 0 else f"changes a logit by {net.changed:.1e}"
    return (
        f"Scaling queries and keys by {LARGER:.0f} {change}; they hold {net.idle:,} of {net.parameters:,} parameters"
        f" ({percent(net.idle / net.parameters)}). The rest is an MLP, so the lecture's {_LECTURE_ACCURACY} % on MNIST"
        " are the accuracy of an MLP. A is 1 for any weights; here they are random."
    )


def describe_results(experiment: Result) -> str:
    """Return what attention adds to the convolutional net, the effect of the two bugs, and the best model."""
    tests = {name: list_accuracies(experiment, name) for name in MODELS if list_accuracies(experiment, name)}
    if not {"written", "control"} <= tests.keys():
        return "The experiment is incomplete: the lecture's net or its control is missing."
    attention = ("written", "scaled", "upright", "corrected")
    best = max((name for name in tests if name in attention), key=lambda name: mean(tests[name]))
    control = tests["control"]
    gain = percent_difference(mean(tests[best]), mean(control))
    separate = min(tests[best]) > max(control) if gain > 0 else max(tests[best]) < min(control)
    seeds = "all seeds separated" if separate else "within the spread of the seeds"
    if min(len(tests[best]), len(control)) == 1:
        seeds = "one seed"
    cost = experiment.settings["multiply_adds"]
    sentences = [
        f"Attention over convolutions {'gains' if gain > 0 else 'loses'} {abs(gain):.1f} points against the same net"
        f" without attention ({TITLES[best]}: {percent(mean(tests[best]))}; control: {percent(mean(control))};"
        f" {seeds}), for {cost[best] / cost['control']:.0f} times the multiply-adds."
    ]
    if "corrected" in tests:
        written, corrected = tests["written"], tests["corrected"]
        difference = percent_difference(mean(written), mean(corrected))
        overlap = max(min(written), min(corrected)) <= min(max(written), max(corrected))
        sentences.append(
            f"As written it reaches {percent(mean(written))}, with both bugs fixed {percent(mean(corrected))}:"
            f" {abs(difference):.1f} points {'more' if difference > 0 else 'less'} as written"
            f"{', within the spread of the seeds' if overlap else ''}."
        )
    top = max(tests, key=lambda name: mean(tests[name]))
    return " ".join([*sentences, f"Best model: {plain(TITLES[top])}, {percent(mean(tests[top]))}."])


def describe_experiment(experiment: Result) -> str:
    settings = experiment.settings
    missing = f" Missing: {plural(experiment.missing, 'run')}." if experiment.missing else ""
    return (
        f"{settings['epochs']:g} epoch on {percent(settings['train_fraction'], 0)} of MNIST's training images at"
        f" {settings['side_px']} px, batch size {settings['batch_size']}, the same hyperparameters for all models;"
        f" `{experiment.command}`, {describe_provenance(experiment.made)}.{missing}"
    )
