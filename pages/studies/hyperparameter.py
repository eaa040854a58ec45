"""Read the stored values of one hyperparameter of the model or its recipe, and train more live."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.controls import widgets
from pages.frame import page
from pages.studies import live_runs
from pages.studies.study import Values
from vitviz.analysis.race import format_epochs
from vitviz.analysis.study_numbers import Numbers
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
from vitviz.lessons.experiment_measures import read_hyperparameter
from vitviz.models import model_cost
from vitviz.text import percent

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

DATASET, EPOCHS = "experiments.knob_set", "experiments.knob_epochs"
VALUES, PICKED = "experiments.knob_values", "experiments.knob_picked"  # of numbers, or of names
MAX_LENGTH = 60
TITLES = {name: f"{subject} · {HYPERPARAMETERS[name].title}" for name, subject in SUBJECT_OF.items()}


def read(values: Values, numbers: None) -> Numbers | None:
    """Return the stored values of a hyperparameter; None if the experiment does not vary it."""
    is_stored = HYPERPARAMETERS[values["knob"]].stored
    return read_hyperparameter(values["knob"]) if is_stored else None


def draw_live(values: Values, numbers: Numbers | None) -> None:
    """Draw the form of a live run of the selected hyperparameter."""
    hyperparameter = HYPERPARAMETERS[values["knob"]]
    config = _draw_form(hyperparameter)
    live_runs.draw(config, "hyperparameter", "Train all values", describe_run)


def describe_run(config: RunConfig) -> str:
    """Describe the number of models, their parameters and their epochs."""
    sizes = sorted({sum(model_cost.parameters(member.model).values()) for member in config.members})
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


def _draw_form(hyperparameter: Hyperparameter) -> RunConfig | ValueError:
    with page.row():
        dataset = widgets.segmented(DATASET, "Dataset", available_titles(BASES))
        text = _type_values(hyperparameter, dataset) if hyperparameter.numeric else ""
        epochs = _choose_epochs(hyperparameter, float(BASES[dataset].train.epochs or 1.0))
    picked = () if hyperparameter.numeric else _pick_values(hyperparameter, dataset)
    try:
        values = hyperparameter.parse(text) if hyperparameter.numeric else picked
        return hyperparameters.build_run_config(dataset, hyperparameter.name, values, epochs)
    except ValueError as error:
        return error


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
