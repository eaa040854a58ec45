"""Study fine-tuning methods: learning rates, layer-wise decay, frozen parts, image size."""

from collections.abc import Sequence

import streamlit as st

from pages.frame import page
from pages.questions.prediction_gate import ask_highest
from pages.studies.image_count import create_evidence
from pages.studies.study import (
    DIFFERENCE,
    SHARES,
    Choice,
    Race,
    Study,
    Table,
    View,
    create_variant_columns,
)
from vitviz.analysis.one_change import Variant, create_variant, describe_hyperparameter
from vitviz.csv_table import Columns
from vitviz.experiments.result_file import TEST_IMAGES, Result, read_result, read_result_if_any
from vitviz.experiments.tuning_methods import LARGER, NAME, PLAN, USUAL, WAYS
from vitviz.plots.theme import Mode
from vitviz.text import gained, percent, plural

GUESS = "fine_tuning.way_guess"


def list_backbones() -> dict[str, str]:
    return {source: title for source, title in PLAN.sources.items() if list_sizes(source)}


def list_sizes(source: str) -> dict[int, str]:
    """Return the measured numbers of images per class of a backbone."""
    stored = read_result_if_any(NAME)
    rows = () if stored is None else stored.where(source=source)
    return {count: str(count) for count in sorted({int(row["a_class"]) for row in rows})}


def find_middle_size(source: str) -> int:
    sizes = [*list_sizes(source)]
    return sizes[len(sizes) // 2]


def build(_mode: Mode, source: str, pictures: int) -> View:
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
            GUESS,
            (source, pictures),
            f"With {plural(pictures, 'image')} per class, which method is best?",
            means,
            percent,
            {name: way.title for name, way in WAYS.items()},
        ),
        (create_evidence(stored, stored.where(source=source, a_class=pictures)),),
        table=Table(
            build_columns(variants, source),
            SHARES | {DIFFERENCE: gained},
            "tuning_methods.csv",
            {"Training, s on one core": st.column_config.NumberColumn(format="%.1f")},
        ),
    )


def load_variants(stored: Result, source: str, pictures: int) -> list[Variant]:
    variants = []
    for name, way in WAYS.items():
        rows = list(stored.where(source=source, a_class=pictures, way=name))
        if rows:
            variants.append(
                create_variant(name, way.title, rows, count_epochs(stored, pictures), TEST_IMAGES["digits"])
            )
    return variants


def count_epochs(stored: Result, pictures: int) -> float:
    """Return the number of epochs of every training; there are ten classes."""
    count = 10 * pictures
    return float(stored.settings["updates"]) * min(int(stored.settings["batch_size"]), count) / count


def build_columns(variants: Sequence[Variant], source: str) -> Columns:
    """Return the table's columns: every method's accuracies, training time and description."""
    larger = f" ({LARGER[source]} px)"
    return {
        "Method": [variant.title for variant in variants],
        **create_variant_columns(variants, USUAL),
        "Description": [
            f"{WAYS[variant.name].does}{larger * (variant.name == 'larger')}" for variant in variants
        ],
    }


STUDY = Study(
    "tuning_methods",
    "Fine-tuning methods",
    "Which way to fine-tune is best on few images?",
    3,
    (NAME,),
    build=build,
    choices=(
        Choice("fine_tuning.way_body", "Backbone trained on", list_backbones),
        Choice("fine_tuning.way_pictures", "Images per class", list_sizes, find_middle_size),
    ),
    keys=(GUESS,),
    math=page.read_math(__file__),
    code=("vitviz.training.optimizers:rate_scales",),
)
