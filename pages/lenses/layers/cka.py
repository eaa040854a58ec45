"""Compare all layers of two models over a dataset by linear CKA, as one matrix."""

from collections.abc import Generator, Sequence
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.layers import dataset_task, layer_controls
from pages.selection.subject import Subject
from pages.views.figures import draw_heat_grid
from vitviz.analysis import cka as analysis
from vitviz.analysis.verdict import Verdict
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import layers as plots
from vitviz.text import join_words, signed

MOST, USUAL = 512, 256
COMPARED = {"places": "all positions", "mean": "mean over positions"}
FORMS = {"debiased": "unbiased", "plain": "biased"}


def draw(current: Subject) -> None:
    other, subset, compared, form = draw_controls(current)
    pair = (current, other)
    grams = dataset_task.measure_models(
        "grams", pair, subset, compute_grams, "Comparing the layers", compared
    )
    if grams is None:
        return
    count = len(current.layers)
    all_grams = [*grams[0], *grams[1]]
    matrix = analysis.cka(all_grams, all_grams, debiased=form == "debiased")
    stage = st.container()  # the picture stands above its question
    verdicts = analysis.compare_layers(grams[0][-1], grams[1], debiased=form == "debiased")
    revealed = _ask_closest_layer(pair, matrix[:count, count:], verdicts)
    with stage:
        titles = [(model.title, tuple(layer.title for layer in model.layers)) for model in pair]
        draw_heat_grid(plots.matrix_view(matrix, titles, between=revealed), key="layers.matrix")
    conditions = f"{subset.title}: {COMPARED[compared]}, {FORMS[form]} CKA"
    page.caption(f"{describe_cka(pair, matrix, verdicts if revealed else None)} Over {conditions}.")
    page.findings("layers.alike")
    page.drawers(
        "layers.alike",
        math=page.read_math(__file__),
        code=(analysis.gram, analysis.cka, analysis.centre_gram, analysis.centre_gram_unbiased),
        numbers=partial(draw_numbers, pair, matrix) if revealed else None,
    )


def draw_controls(current: Subject) -> tuple[Subject, dataset_task.ImageSubset, str, str]:
    """Draw the controls; return the other model, the images, the compared features and the estimator of CKA."""
    with page.row():
        other = layer_controls.choose_other(current)
        with st.container(width="content"):
            compared = widgets.segmented(
                "layers.compared",
                "Compared features",
                COMPARED,
                help="A layer's features at all positions, or their mean over positions.",
            )
        with page.options("layers.alike"):
            subset = dataset_task.choose_images((current, other), MOST, USUAL)
            form = widgets.segmented(
                "layers.form",
                "CKA estimator",
                FORMS,
                help="With few images and many features, the biased estimate is too high.",
            )
    return other, subset, compared, form


def compute_grams(
    model: LoadedModel, subset: dataset_task.ImageSubset, compared: str
) -> Generator[float, None, list[analysis.Gram]]:
    """Compute each layer's Gram matrix between images, yielding the completed share."""
    layers = yield from dataset_task.collect_layers(
        model, subset, lambda layer: layer.mean if compared == "mean" else layer.flat, 0.9
    )
    grams = []
    for batches in layers:
        grams.append(analysis.gram(np.concatenate(batches)))
        yield 0.9 + 0.1 * len(grams) / len(layers)
    return grams


def describe_cka(
    pair: Sequence[Subject], matrix: NDArray[np.float64], verdicts: Sequence[Verdict] | None
) -> str:
    """Return a caption on the similarity within each model and, with verdicts, on the last layer's between the two."""
    count = len(pair[0].layers)
    within = (matrix[:count, :count], matrix[count:, count:])
    parts = [
        f"{signed(_mean_similarity(block))} in {model.safe_title} ({signed(float(block[0, -1]))} between its first and"
        " last)"
        for model, block in zip(pair, within, strict=True)
    ]
    between = "Predict to see the similarity between the models."
    if verdicts is not None:
        across = matrix[count - 1, count:]
        best, layers = int(across.argmax()), pair[1].layers
        level = [layers[place].phrase for place in find_level(verdicts) if place != best]
        reason = next((verdict.reason for verdict in verdicts if verdict.reason), "")
        tied = f"; no difference from {join_words(level)} is shown" if level else "; every other one is lower"
        between = (
            f"The last layer of {pair[0].safe_title} is most similar to {layers[best].phrase} of"
            f" {pair[1].safe_title}, {signed(float(across[best]))}{f' ({reason} for a verdict)' if reason else tied}."
        )
    return f"Mean CKA between two layers: {'; '.join(parts)}. {between}"


def find_level(verdicts: Sequence[Verdict]) -> list[int]:
    """Return the layers that are not shown to be less similar than the most similar one."""
    return [place for place, verdict in enumerate(verdicts) if verdict.outcome != "lower"]


def _mean_similarity(matrix: NDArray[np.float64]) -> float:
    """Return the mean over pairs of different layers."""
    pairs = matrix[np.triu_indices(len(matrix), 1)]
    return float(pairs.mean()) if pairs.size else 1.0


def _ask_closest_layer(
    pair: Sequence[Subject], across: NDArray[np.float64], verdicts: Sequence[Verdict]
) -> bool:
    """Ask which layer of the other model is most similar to the last one; return True if it may be shown."""
    layers = pair[1].layers
    layer_options = layer_controls.LayerOptions(layers)

    similarities = ", ".join(
        f"{layer.title} {signed(cka)}" for layer, cka in zip(layers, across[-1].tolist(), strict=True)
    )
    answer = layer_options.find_option(
        [int(across[-1].argmax()), *find_level(verdicts)], f"CKA of the last layer with each: {similarities}."
    )
    prompt = f"Which layer of {pair[1].title} is most similar to the last layer of {pair[0].title}?"
    return layer_controls.ask_before_reveal("layers.alike_guess", prompt, layer_options.options, answer)


def draw_numbers(pair: Sequence[Subject], matrix: NDArray[np.float64]) -> None:
    names = [f"{model.title}, {layer.title}" for model in pair for layer in model.layers]
    columns: dict[str, list[object]] = {"layer": list(names)}
    columns |= {name: matrix[:, i].tolist() for i, name in enumerate(names)}
    st.dataframe(columns, hide_index=True)
    downloads.csv("CKA (CSV)", columns, "layers_cka.csv", "layers.csv.alike")
