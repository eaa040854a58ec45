"""Show the stored experiment on fine-tuning methods: learning rates, layer-wise decay, frozen parts, image size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.train.fine_tuning import stored_results
from pages.views.race import draw_race
from vitviz.analysis.one_change import Variant, compute_gain, create_variant, describe_hyperparameter
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.experiments.tuning_plan import LARGER, NAME, PLAN, USUAL, WAYS
from vitviz.plots.one_change import payload
from vitviz.text import gained, percent, plural
from vitviz.training.layer_rates import rate_scales

MATH = r"""
All methods but the last start from the same backbone; all train on the same images in the same order, with the same
number of AdamW updates. In a backbone with layers $1 \dots L$ and a head, layer-wise decay $\gamma$ gives layer $\ell$
the learning rate $\eta\,\gamma^{\,L + 1 - \ell}$ (Clark et al. 2020): layers near the pixels change least. Larger
images have more patches of the same size, and the grid of position embeddings is interpolated.
"""
TITLES = {name: way.title for name, way in WAYS.items()}
DIFFERENCE = f"Difference to '{WAYS[USUAL].title}', points"
_WRITTEN = dict.fromkeys(("Mean", "Lowest", "Highest"), percent) | {DIFFERENCE: gained}


@dataclass(frozen=True)
class TuningControls(widgets.ControlValues, page="fine_tuning"):
    """The backbone, the number of images per class, and the method that is predicted to be best."""

    way_body: str
    way_pictures: int
    way_guess: str


def draw() -> None:
    """Draw the selection of backbone and images, the prediction, and every method's curve and accuracies."""
    stored = read_result_if_any(NAME)
    if stored is None:
        st.info(
            f"No results are stored here. Run `python -m vitviz.experiment {NAME}`.", icon=":material/timer:"
        )
        return
    with page.row():
        backbones = tuple(name for name in PLAN.sources if any(row["source"] == name for row in stored.rows))
        key = TuningControls.key("way_body")
        source = widgets.segmented(
            key, "Backbone trained on", backbones, format_func=PLAN.sources.__getitem__
        )
        sizes = sorted({int(row["a_class"]) for row in stored.rows if row["source"] == source})
        default = sizes[len(sizes) // 2]
        pictures = widgets.segmented(TuningControls.key("way_pictures"), "Images per class", sizes, default)
    variants = load_variants(stored, source, pictures)
    tested = [variant for variant in variants if variant.test]
    answered = len(tested) < 2 or _ask_prediction(source, pictures, tested)
    drawn = variants if answered else [variant for variant in variants if variant.name == USUAL]
    note = f"{stored.settings['test_pictures']:,} test images, evaluated once at the end"
    draw_race(payload(drawn, 1 / 10, count_epochs(stored, pictures), note), key="fine_tuning.ways_view")
    page.caption(
        describe_hyperparameter(variants, USUAL)
        if answered
        else "Shown: the page's default. Predict to see the other methods."
    )
    page.provenance(stored_results.describe_origin(stored, stored.where(source=source, a_class=pictures)))
    if answered:
        columns = build_columns(variants, source)
        formats = {"Core-seconds": st.column_config.NumberColumn(format="%.1f")}
        page.table(columns, _WRITTEN, formats, "fine_tuning.ways_table")
    page.drawers(
        "fine_tuning.ways",
        math=MATH,
        code=(rate_scales,),
        numbers=partial(stored_results.draw_table, stored, "way", TITLES, "fine_tuning.ways")
        if answered
        else None,
    )


def load_variants(stored: Result, source: str, pictures: int) -> list[Variant]:
    """Load the measured methods, in the plan's order."""
    variants = []
    for name, way in WAYS.items():
        rows = list(stored.where(source=source, a_class=pictures, way=name))
        if rows:
            variants.append(create_variant(name, way.title, rows, count_epochs(stored, pictures)))
    return variants


def count_epochs(stored: Result, pictures: int) -> float:
    """Return the number of epochs of every training; there are ten classes."""
    count = 10 * pictures
    return float(stored.settings["updates"]) * min(int(stored.settings["batch_size"]), count) / count


def _ask_prediction(source: str, pictures: int, tested: Sequence[Variant]) -> bool:
    variants = {variant.name: variant for variant in tested}
    return prediction_gate.require_prediction(
        TuningControls.key("way_guess"),
        (source, pictures),
        f"With {plural(pictures, 'image')} per class, which method is best?",
        {name: variant.title for name, variant in variants.items()},
        lambda guess: describe_prediction(variants, guess),
    )


def describe_prediction(variants: dict[str, Variant], guess: str) -> str:
    """Compare the predicted method with the best by mean test accuracy, and state whether the seeds agree."""
    predicted, best_mean = variants[guess], max(variant.mean for variant in variants.values())
    if predicted.mean == best_mean:
        return f"Your prediction: '{predicted.title}' is right, {percent(best_mean)}."
    best = next(variant for variant in variants.values() if variant.mean == best_mean)
    behind = compute_gain(predicted, best)
    agree = "" if behind is None else f": {behind.summary}, {behind.certainty}"
    return (
        f"Your prediction: '{predicted.title}', {percent(predicted.mean)}. Measured best: '{best.title}',"
        f" {percent(best_mean)}{agree}."
    )


def build_columns(variants: Sequence[Variant], source: str) -> dict[str, list[object]]:
    """Return the table's columns: every method's accuracies, training time and description."""
    usual = next((variant for variant in variants if variant.name == USUAL), None)
    gains = [None if usual is None else compute_gain(variant, usual) for variant in variants]
    larger = f" ({LARGER[source]} px)"
    return {
        "Method": [variant.title for variant in variants],
        "Mean": [variant.mean if variant.test else None for variant in variants],
        "Lowest": [min(variant.test.values()) if variant.test else None for variant in variants],
        "Highest": [max(variant.test.values()) if variant.test else None for variant in variants],
        DIFFERENCE: [None if gain is None else gain.mean for gain in gains],
        "Core-seconds": [
            sum(variant.seconds) / len(variant.seconds) if variant.seconds else None for variant in variants
        ],
        "Description": [
            f"{WAYS[variant.name].does}{larger * (variant.name == 'larger')}" for variant in variants
        ],
    }
