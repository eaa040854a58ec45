"""Study values of one hyperparameter of the model or its recipe, stored over seeds or trained live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.studies import live_runs
from pages.studies.study import (
    DIFFERENCE,
    SHARES,
    Choice,
    Evidence,
    Race,
    Study,
    Table,
    View,
    create_variant_columns,
)
from vitviz.analysis.one_change import Variant, describe_hyperparameter
from vitviz.analysis.race import format_epochs
from vitviz.csv_table import Columns
from vitviz.data.datasets import available_titles
from vitviz.experiments import hyperparameters
from vitviz.experiments.hyperparameters import (
    BASES,
    HYPERPARAMETERS,
    MOST_VALUES,
    SUBJECT_OF,
    Hyperparameter,
    Value,
)
from vitviz.experiments.result_file import describe_recipe, read_result_if_any
from vitviz.lessons.experiment_measures import (
    BestHyperparameterValue,
    list_hyperparameter_variants,
    select_hyperparameter_rows,
)
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.plots.theme import Mode
from vitviz.text import gained, percent

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

EXPERIMENT = "one_knob_digits"
GUESS, RUN, LOOK = "experiments.knob_guess", "experiments.knob_run", "experiments.knob_look"
DATASET, SEED_COUNT, EPOCHS = "experiments.knob_set", "experiments.knob_seeds", "experiments.knob_epochs"
VALUES, PICKED = (
    "experiments.knob_values",
    "experiments.knob_picked",
)  # of a numeric hyperparameter, or of names
SHUFFLED, SEEDS = "shuffled", "seeds"
PANELS = {SHUFFLED: "Shuffled patches", SEEDS: "Every seed"}
MAX_LENGTH = 60


def build(_mode: Mode, name: str) -> View:
    hyperparameter, stored = HYPERPARAMETERS[name], read_result_if_any(EXPERIMENT)
    findings, live = f"hyperparameter.{name}", partial(_draw_live, hyperparameter)
    variants = [] if stored is None else list_hyperparameter_variants(stored, hyperparameter)
    if stored is None or len(variants) < 2:
        return View(None, "Not in the stored experiment: train it here.", findings=findings, live=live)
    rows = [row for value_rows in select_hyperparameter_rows(stored, name).values() for row in value_rows]
    base = get_base_name(hyperparameter)
    columns = build_columns(variants, base)
    return View(
        Race(
            variants,
            0.1,
            float(stored.settings["epochs"]),
            "test images of Digits, evaluated once at the end",
        ),
        describe_hyperparameter(variants, base),
        prediction_gate.create_prediction(GUESS, write_question(hyperparameter)),
        (Evidence(stored, rows, describe_recipe(stored, rows)),),
        table=Table(
            columns, SHARES | {DIFFERENCE: gained}, f"{EXPERIMENT}_{name}.csv", format_columns(columns)
        ),
        findings=findings,
        live=live,
    )


def write_question(hyperparameter: Hyperparameter) -> Question:
    return Question(
        f"Which value of '{hyperparameter.title}' has the highest mean accuracy on Digits?",
        BestHyperparameterValue(hyperparameter.name),
        (
            ("studies.study", "hyperparameter"),
            ("experiments.knob", hyperparameter.name),
            (GUESS, prediction_gate.SKIPPED),
        ),
    )


def get_base_name(hyperparameter: Hyperparameter) -> str:
    return f"{hyperparameter.base(BASES['digits'])}"


COSTS = {"Training, s on one core": "%.1f", "Parameters": "localized"}


def format_columns(columns: Columns) -> dict[str, Any]:
    """Return column formats that draw training time and parameters as bars from 0."""
    tops = {name: max((float(str(v)) for v in columns[name] if v is not None), default=1.0) for name in COSTS}
    return {
        name: st.column_config.ProgressColumn(format=shape, min_value=0, max_value=tops[name] or 1.0)
        for name, shape in COSTS.items()
    }


def build_columns(variants: Sequence[Variant], base: str) -> Columns:
    """Return the table's columns: every variant's accuracies, training time and parameters."""
    return {
        "Value": [variant.title for variant in variants],
        **create_variant_columns(variants, base),
        "Parameters": [variant.parameters for variant in variants],
    }


def _draw_live(hyperparameter: Hyperparameter) -> None:
    dataset, config = _draw_form(hyperparameter)
    with page.row():
        live_runs.draw_start_button(config, "studies.hyperparameter", "Train all values", RUN)
        if not isinstance(config, ValueError):
            page.caption(describe_run(config))
    run = live_runs.find_shown_run(RUN, f"{hyperparameters.PRESET}:{hyperparameter.name}", dataset)
    if run is not None:
        live_runs.draw(run, _choose_panel(hyperparameter, dataset))


def _choose_panel(hyperparameter: Hyperparameter, dataset: str) -> live_runs.BuildPanels:
    """Draw the selection of the panel beside the curves, if there are several; return its builder."""
    by_seeds = partial(live_runs.build_seed_panels, partial(_describe_variants, hyperparameter, dataset))
    if not hyperparameter.shuffled:
        return by_seeds
    panel = widgets.segmented(LOOK, "Beside the curves", PANELS)
    return by_seeds if panel == SEEDS else partial(live_runs.build_shuffled_panels, hyperparameter)


def describe_run(config: RunConfig) -> str:
    """Describe the number of models, their parameters and their epochs."""
    sizes = sorted({sum(parameter_count.parameters(member.model).values()) for member in config.members})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    shortest = min(config.recipe(member).epochs or 0.0 for member in config.members)
    length = format_epochs(shortest, config.longest or 0.0)
    return f"{len(config.members)} models of {size} parameters, {length} each{_describe_data_share(config)}."


def _describe_data_share(config: RunConfig) -> str:
    """Describe the share of the training set, or return '' if every model trains on all of it."""
    shares = sorted({config.recipe(member).train_fraction for member in config.members})
    if shares == [1.0]:
        return ""
    ends = " to ".join(percent(share, 0) for share in dict.fromkeys((shares[0], shares[-1])))
    return f" of {ends} of the training images"


def _describe_variants(hyperparameter: Hyperparameter, dataset: str, variants: Sequence[Variant]) -> str:
    """Describe a live run's variants against the base, which is identified by its title."""
    base_title = hyperparameter.label(hyperparameter.base(BASES[dataset]))
    return describe_hyperparameter(
        variants, next((variant.name for variant in variants if variant.title == base_title), "")
    )


def _draw_form(hyperparameter: Hyperparameter) -> tuple[str, RunConfig | ValueError]:
    with page.row():
        dataset = widgets.segmented(DATASET, "Dataset", available_titles(BASES))
        text = _type_values(hyperparameter, dataset) if hyperparameter.numeric else ""
        epochs = _choose_epochs(hyperparameter, float(BASES[dataset].train.epochs or 1.0))
        seeds = widgets.segmented(SEED_COUNT, "Runs per value", (1, 2, 3), 1, help="Each has its own seed.")
    picked = () if hyperparameter.numeric else _pick_values(hyperparameter, dataset)
    try:
        values = hyperparameter.parse(text) if hyperparameter.numeric else picked
        return dataset, hyperparameters.build_run_config(dataset, hyperparameter.name, values, seeds, epochs)
    except ValueError as error:
        return dataset, error


def _choose_epochs(hyperparameter: Hyperparameter, start: float) -> float:
    widgets.follow_default(EPOCHS, start)
    why_not = "Set by each value of the hyperparameter." if hyperparameter.name == "epochs" else None
    return widgets.real(EPOCHS, "Epochs", start, 1.0, why_not=why_not)


def _type_values(hyperparameter: Hyperparameter, dataset: str) -> str:
    """Draw the text input for the values of a numeric hyperparameter."""
    offered = ", ".join(hyperparameter.label(option) for option in hyperparameter.offered(BASES[dataset]))
    widgets.follow_default(VALUES, offered)
    limits = f"2 to {MOST_VALUES} values, separated by commas."
    return widgets.text(VALUES, "Values", offered, MAX_LENGTH, help=limits)


def _pick_values(hyperparameter: Hyperparameter, dataset: str) -> tuple[Value, ...]:
    """Draw the selection among named values, all by default; there is none for two values."""
    values = hyperparameter.offered(BASES[dataset])
    if len(values) == 2:
        return values
    by_name = {
        f"{hyperparameter.name}.{widgets.encode_value(option).replace(',', '-')}": option for option in values
    }
    names = widgets.pills(
        PICKED,
        "Values",
        tuple(by_name),
        tuple(by_name),
        least=2,
        most=MOST_VALUES,
        format_func=lambda name: hyperparameter.label(by_name[name]),
    )
    return tuple(by_name[name] for name in names)


STUDY = Study(
    "hyperparameter",
    "One hyperparameter",
    "Which value of a hyperparameter is best?",
    minutes=4,
    experiments=(EXPERIMENT,),
    build=build,
    choices=(
        Choice(
            "experiments.knob",
            "Hyperparameter",
            lambda: {
                name: f"{subject} · {HYPERPARAMETERS[name].title}" for name, subject in SUBJECT_OF.items()
            },
            "num_heads",
            widgets.select,
            lambda: "Type part of a name to find it.",
        ),
    ),
    keys=(GUESS, DATASET, VALUES, PICKED, SEED_COUNT, EPOCHS, RUN, LOOK),
    math=page.read_math(__file__),
    code=(Hyperparameter.with_value, hyperparameters.build_run_config),
)
