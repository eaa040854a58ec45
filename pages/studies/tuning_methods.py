"""Study fine-tuning methods: learning rates, layer-wise decay, frozen parts, image size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.questions.prediction_gate import ask_highest
from pages.studies.image_count import create_evidence
from pages.studies.study import Race, Study, Table, View
from vitviz.analysis.one_change import Variant, compute_gain, create_variant, describe_hyperparameter
from vitviz.experiments.result import Result, read_result, read_result_if_any
from vitviz.experiments.tuning_plan import LARGER, NAME, PLAN, USUAL, WAYS
from vitviz.plots.theme import Mode
from vitviz.text import gained, percent, plural

MATH = r"""
All methods but the last start from the same backbone; all train on the same images in the same order, with the same
number of AdamW updates. In a backbone with layers $1 \dots L$ and a head, layer-wise decay $\gamma$ gives layer $\ell$
the learning rate $\eta\,\gamma^{\,L + 1 - \ell}$ (Clark et al. 2020): layers near the pixels change least. Larger
images have more patches of the same size, and the grid of position embeddings is interpolated.
"""
DIFFERENCE = f"Difference to '{WAYS[USUAL].title}', points"
_WRITTEN = dict.fromkeys(("Mean", "Lowest", "Highest"), percent) | {DIFFERENCE: gained}


@dataclass(frozen=True)
class TuningControls(widgets.ControlValues, page="fine_tuning"):
    """The backbone, the number of images per class, and the method that is predicted to be best."""

    way_body: str
    way_pictures: int
    way_guess: str


def list_options() -> dict[str, list[int]]:
    """Return the numbers of images per class that were measured, by backbone."""
    stored = read_result_if_any(NAME)
    rows = () if stored is None else stored.rows
    sizes = {name: {int(row["a_class"]) for row in rows if row["source"] == name} for name in PLAN.sources}
    return {name: sorted(counts) for name, counts in sizes.items() if counts}


def get_example() -> tuple[str, int] | None:
    return next(((name, sizes[len(sizes) // 2]) for name, sizes in list_options().items()), None)


def choose() -> tuple[str, int] | None:
    options = list_options()
    if not options:
        return None
    label, titles = "Backbone trained on", PLAN.sources
    source = widgets.segmented(
        TuningControls.key("way_body"), label, tuple(options), format_func=titles.__getitem__
    )
    sizes = options[source]
    label, default = "Images per class", sizes[len(sizes) // 2]
    return source, widgets.segmented(TuningControls.key("way_pictures"), label, sizes, default)


def build(selected: tuple[str, int], _mode: Mode) -> View:
    """Return the learning curves and test accuracies of all methods."""
    source, pictures = selected
    stored = read_result(NAME)
    variants = load_variants(stored, source, pictures)
    means = {variant.name: variant.mean for variant in variants if variant.test}
    return View(
        Race(
            variants,
            1 / 10,
            count_epochs(stored, pictures),
            f"{stored.settings['test_pictures']:,} test images, evaluated once at the end",
        ),
        describe_hyperparameter(variants, USUAL),
        ask_highest(
            TuningControls.key("way_guess"),
            selected,
            f"With {plural(pictures, 'image')} per class, which method is best?",
            means,
            percent,
            {name: way.title for name, way in WAYS.items()},
        )
        if len(means) > 1
        else None,
        (create_evidence(stored, stored.where(source=source, a_class=pictures)),),
        table=Table(
            build_columns(variants, source),
            _WRITTEN,
            "tuning_methods.csv",
            {"Core-seconds": st.column_config.NumberColumn(format="%.1f")},
        ),
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


def _list_code() -> tuple[Callable[..., object], ...]:
    from vitviz.training.layer_rates import rate_scales

    return (rate_scales,)


STUDY = Study(
    "tuning_methods",
    "Fine-tuning methods",
    "Which way to fine-tune is best on few images?",
    3,
    (NAME,),
    choose=choose,
    build=build,
    example=get_example,
    controls=(TuningControls,),
    math=MATH,
    code=_list_code,
)
