"""Show what augmentation gains for each model, and the augmented images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from pages.studies.data import papers, stored_results
from vitviz.analysis.data_size import Curve, gains, leads
from vitviz.config import TrainConfig
from vitviz.data.datasets import data_title, default_pictures
from vitviz.experiments import data_size
from vitviz.plots.data_size import gain_figure
from vitviz.tables import Columns
from vitviz.text import gained, plural
from vitviz.training.batches import prepare_images
from vitviz.training.recipe import augment

SHOWN = 7
ONE_SEED = " One seed each; other seeds may differ."
_PX = 96


@dataclass(frozen=True)
class AugmentationControls(widgets.ControlValues, page="data"):
    """The model that is predicted to gain most."""

    gain_guess: str


def draw() -> None:
    """The strip of augmented images, the gains, and what they say."""
    with page.row():
        dataset = stored_results.choose_dataset()
    if dataset is None:
        return
    found = stored_results.load_grid(dataset)
    assert found is not None
    _draw_augmented_images(dataset)
    measured = gains(found.rows, data_size.TITLES)
    if not measured:
        st.info(
            "Only one half of this grid was measured. Choose another dataset to compare both halves.",
            icon=":material/timer:",
        )
    elif _ask_prediction(dataset, measured):
        page.figure(gain_figure(measured, selection.get_theme()), "data.gains_figure")
        page.caption(_describe_gains(measured))
    else:
        page.caption("Predict to see each model's gain.")
    page.provenance(stored_results.describe_origin(found))
    page.caption(stored_results.describe_coverage())
    papers.cite_papers("augmented")
    page.drawers("data.augmented", code=(augment,), numbers=partial(_draw_table, measured))


def _ask_prediction(dataset: str, measured: Sequence[Curve]) -> bool:
    """Asks who gains most with the fewest images; whether the gains may be shown."""
    compared = leads(measured)
    if not compared:
        return True
    pictures = compared[0].pictures
    points = {
        gain.name: (gain.title, 100 * float(gain.mean[place]))
        for gain in measured
        if (place := gain.at(pictures)) is not None
    }
    return prediction_gate.require_prediction(
        AugmentationControls.key("gain_guess"),
        dataset,
        f"With {plural(pictures, 'picture')}, which model gains most from augmentation?",
        {name: title for name, (title, _) in points.items()},
        lambda guess: describe_prediction(points, guess) + (ONE_SEED if compared[0].seeds == 1 else ""),
    )


def describe_prediction(points: Mapping[str, tuple[str, float]], guess: str) -> str:
    """Return True if a guess about who gains most was right; by model its title and its gain in points."""
    title, own = points[guess]
    most, best = max(points.values(), key=lambda of: of[1])
    said = f"Your prediction: {title}: {gained(own)} points"
    if round(own, 1) == round(best, 1):
        return f"{said}, right: {'none gains more' if best > 0 else 'none gains, and none loses less'}."
    return f"{said}. {most} {'gains most' if best > 0 else 'loses least'}, {gained(best)}."


def _draw_augmented_images(dataset: str) -> None:
    """One image as the models of a grid see it, and what its recipe makes of it in a few updates."""
    grid = data_size.GRIDS[dataset]
    name = default_pictures(dataset, grid.preparation.in_chans)
    data = cached.load_dataset(name)
    images = (
        data.train_images if len(data.train_images) else data.test_images
    )  # 'a few' has none to learn from
    one = prepare_images(images[:1], np.zeros(1, np.int64), slice(None), grid.preparation).images
    seen = augment(
        one.repeat(SHOWN, 1, 1, 1),
        grid.train,
        torch.zeros(one.shape[1], dtype=torch.uint8),
        torch.Generator().manual_seed(0),
    )
    scale = -(-_PX // one.shape[-1])
    shown = [
        np.broadcast_to(each.permute(1, 2, 0).numpy(), (*each.shape[1:], 3)).repeat(scale, 0).repeat(scale, 1)
        for each in (one[0], *seen)
    ]
    names = ["original", *(f"seen {i + 1}" for i in range(SHOWN))]
    with st.container(horizontal=True, gap="xsmall"):
        for each, said in zip(shown, names, strict=True):
            st.image(each, caption=said, alt=f"The image, {said}", width=_PX)
    lacks = (
        "" if name == dataset else f"; the training images of {data_title(dataset)} are not on this machine"
    )
    page.caption(
        f"One image and {SHOWN} of the {count_variants(grid.train):,} augmented versions of it."
        f" {_describe_passes(grid)} It is"
        f" from '{data_title(name)}'{lacks}."
    )


def count_variants(train: TrainConfig) -> int:
    """Return the number of augmented versions of one image: shifted by -s..s pixels down and across, and flipped or not."""
    return (2 * train.shift_px + 1) ** 2 * (1 + train.flip)


def _describe_passes(grid: data_size.Grid) -> str:
    """Return how often a training sees one image, with the fewest and with the most."""
    fewest, most = (f"{grid.trained_on(size).epochs or 0:,.3g}" for size in (grid.sizes[0], grid.sizes[-1]))
    few, many = grid.sizes[0], grid.sizes[-1]
    return f"With {few:,} images a model sees each {fewest} times, with {many:,} each {most} times."


def _describe_gains(measured: Sequence[Curve]) -> str:
    """Return the largest and the smallest gain in words."""
    places = [(gain, place) for gain in measured for place in range(len(gain.mean))]
    if len(places) == 1:
        return f"Measured of one point alone: {_format_gain(*places[0])}, augmented minus plain."
    best = max(places, key=lambda at: at[0].mean[at[1]])
    least = min(places, key=lambda at: at[0].mean[at[1]])
    seeds = sorted({int(count) for gain in measured for count in gain.seeds})
    pairs = "one seed each; other seeds may differ" if seeds == [1] else "mean over the seeds of both halves"
    gives = "gives most to" if best[0].mean[best[1]] > 0 else "helps none; it costs least for"
    and_least = "gives least to" if least[0].mean[least[1]] > 0 else "costs most for"
    return (
        f"Augmentation {gives} {_format_gain(*best)} and {and_least} {_format_gain(*least)}: augmented"
        f" minus plain, seed by seed,"
        f" {pairs}."
    )


def _format_gain(gain: Curve, place: int) -> str:
    return f"{gain.title} with {gain.pictures[place]:,} images ({gained(100 * gain.mean[place])} points)"


def _draw_table(measured: Sequence[Curve]) -> None:
    table: Columns = {
        "model": [gain.title for gain in measured for _ in gain.pictures],
        "pictures": [int(size) for gain in measured for size in gain.pictures],
        "gain, points": [100 * float(value) for gain in measured for value in gain.mean],
        "seeds": [int(count) for gain in measured for count in gain.seeds],
    }
    page.table(table, {"gain, points": gained}, {}, "data.gains")
