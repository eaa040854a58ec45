"""One hyperparameter: any one field of the model or its recipe over a few values, stored over seeds, and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.train.experiments import live_runs, papers, shuffled_patches, stored_results
from pages.views import race
from vitviz.analysis.one_change import Variant, describe_knob, gain
from vitviz.experiments import hyperparameters
from vitviz.experiments.hyperparameter import BASES, MOST_VALUES, Hyperparameter, Value
from vitviz.experiments.hyperparameters import HYPERPARAMETERS, SUBJECT_OF
from vitviz.experiments.result import read_result_if_any
from vitviz.lessons.experiment_measures import (
    BestHyperparameterValue,
    list_hyperparameter_variants,
    select_hyperparameter_rows,
)
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.plots.one_change import payload
from vitviz.text import gained, percent

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig

STORED, LIVE = "stored", "live"
HOWS = {STORED: "Stored", LIVE: "Train it here"}
SHUFFLED, SEEDS = "shuffled", "seeds"
LOOKS = {SHUFFLED: "Patches shuffled", SEEDS: "Every seed"}
LONGEST = 60
MATH = r"""
Everything but one field is the same: the images, their order, the seed of the weights, the recipe. What differs is
therefore due to this field *at this budget*: a value that learns more slowly may win where all train longer.

**Paired seeds.** The difference to the base is taken seed by seed, $\Delta_s = a_s - a_s^{\text{base}}$, and its
smallest and largest value are said beside the mean. Where they have one sign, every seed agrees.

**Parameters.** A block has $(4 + 2r) D^2$ weights in its linear maps, $r$ the MLP's ratio: heads, readout, scale and
norm leave that as it is; depth multiplies it, width squares it.
"""


@dataclass(frozen=True)
class HyperparameterControls(widgets.ControlValues, page="experiments"):
    """The hyperparameter, stored or live results, the predicted best value, the live form, and its run."""

    knob: str
    how: str
    knob_guess: str
    knob_set: str
    knob_values: str
    knob_picked: tuple[str, ...]
    knob_seeds: int
    knob_epochs: float
    knob_run: str
    knob_look: str


def draw() -> None:
    """The choice of a hyperparameter, then what was stored of it or the live form with its run."""
    with page.row():
        name = widgets.select(
            HyperparameterControls.key("knob"),
            "Knob",
            tuple(SUBJECT_OF),
            "num_heads",
            format_func=lambda name: f"{SUBJECT_OF[name]} · {HYPERPARAMETERS[name].title}",
            help="Grouped by subject. Type part of a name to find it.",
        )
        knob = HYPERPARAMETERS[name]
        how = _choose_source() if knob.stored else LIVE
    _draw_live(knob) if how == LIVE else _draw_stored(knob)
    papers.cite_papers(knob.said)
    math = MATH + race.MATH if knob.shuffled else MATH
    page.drawers("experiments.knob", math=math, code=(Hyperparameter.with_value, hyperparameters.build_run_config))


def _choose_source() -> str:
    """Draws the choice between what is stored and a run; a hyperparameter that no stored experiment turns has none."""
    return widgets.segmented(
        HyperparameterControls.key("how"), "Measured", tuple(HOWS), STORED, format_func=HOWS.__getitem__
    )


def _draw_stored(knob: Hyperparameter) -> None:
    found = read_result_if_any("one_knob_digits")
    rows = {} if found is None else select_hyperparameter_rows(found, knob.name)
    if found is None or len(rows) < 2:
        st.info(
            f"{knob.title} was not varied in the stored experiment. Train it here.",
            icon=":material/timer:",
        )
        return
    shown = list_hyperparameter_variants(found, knob)
    epochs = float(found.settings["epochs"])
    answered = prediction_gate.require_measured_prediction(
        HyperparameterControls.key("knob_guess"), write_question(knob)
    )
    drawn = shown if answered else [one for one in shown if one.name == get_base_name(knob)]
    race.draw_race(
        payload(drawn, 0.1, epochs, "digits' test images, read once at the end"),
        key="experiments.knob_view",
    )
    how = stored_results.describe_origin(found, [row for value in rows.values() for row in value])
    if not answered:
        page.caption(f"{_describe_base(knob, drawn)}Predict to see the rest.")
        page.provenance(how)
        return
    page.caption(describe_knob(shown, get_base_name(knob)))
    page.provenance(how)
    columns = build_columns(shown, get_base_name(knob))
    page.table(columns, _WRITTEN, format_columns(columns), "experiments.knob_table")
    page.csv("All numbers (CSV)", columns, f"one_knob_{knob.name}.csv", "experiments.knob_csv")


def build_query(name: str, how: str) -> dict[str, str]:
    """Return what a link to a hyperparameter says, stored or live."""
    return {
        "experiments.view": "knob",
        HyperparameterControls.key("knob"): name,
        HyperparameterControls.key("how"): how,
    }


def write_question(knob: Hyperparameter) -> Question:
    """Return what is asked before a hyperparameter's values are shown."""
    proof = {
        **build_query(knob.name, STORED),
        HyperparameterControls.key("knob_guess"): prediction_gate.SKIPPED,
    }
    return Question(
        f"Which value of '{knob.title}' has the highest mean accuracy on the digits?",
        BestHyperparameterValue(knob.name),
        tuple(proof.items()),
    )


def _describe_base(knob: Hyperparameter, drawn: Sequence[Variant]) -> str:
    return "".join(f"This is the base, '{knob.title}' at {one.title}. " for one in drawn)


def get_base_name(knob: Hyperparameter) -> str:
    """Return the name of the variant that is the base itself."""
    return f"{knob.base(BASES['digits'])}"


AGAINST = "Difference to base, points"
_WRITTEN = dict.fromkeys(("Mean", "Lowest", "Highest"), percent) | {AGAINST: gained}
COSTS = {"Training, core-seconds": "%.1f", "Parameters": "localized"}


def format_columns(columns: dict[str, list[object]]) -> dict[str, Any]:
    """Return column formats: time and parameters as bars from 0, to be compared with the hyperparameter."""
    tops = {name: max((float(str(v)) for v in columns[name] if v is not None), default=1.0) for name in COSTS}
    return {
        name: st.column_config.ProgressColumn(format=shape, min_value=0, max_value=tops[name] or 1.0)
        for name, shape in COSTS.items()
    }


def build_columns(shown: list[Variant], base: str) -> dict[str, list[object]]:
    """Return every variant's numbers, as the file has them."""
    own = next((one for one in shown if one.name == base), None)
    gains = [None if own is None else gain(one, own) for one in shown]
    return {
        "Value": [one.title for one in shown],
        "Mean": [one.mean if one.test else None for one in shown],
        "Lowest": [min(one.test.values()) if one.test else None for one in shown],
        "Highest": [max(one.test.values()) if one.test else None for one in shown],
        AGAINST: [None if found is None else found.mean for found in gains],
        "Seeds": [len(one.test) for one in shown],
        "Training, core-seconds": [
            sum(one.seconds) / len(one.seconds) if one.seconds else None for one in shown
        ],
        "Parameters": [one.parameters for one in shown],
    }


def _draw_live(knob: Hyperparameter) -> None:
    dataset, config = _draw_form(knob)
    with page.row():
        live_runs.draw_start_button(
            config, "experiments.knob", "Train all values", HyperparameterControls.key("knob_run")
        )
        if not isinstance(config, ValueError):
            page.caption(describe_run(config))
    run = live_runs.find_shown_run(
        HyperparameterControls.key("knob_run"), f"{hyperparameters.PRESET}:{knob.name}", dataset
    )
    if run is not None:
        live_runs.draw(run, _choose_panel(knob, dataset))


def _choose_panel(knob: Hyperparameter, dataset: str) -> live_runs.BuildPanels:
    """Draws the choice of what stands beside the curves, where the hyperparameter has one."""
    by_seeds = live_runs.build_seed_panels(partial(_describe_variants, knob, dataset))
    if not knob.shuffled:
        return by_seeds
    key = HyperparameterControls.key("knob_look")
    look = widgets.segmented(key, "Beside the curves", tuple(LOOKS), format_func=LOOKS.__getitem__)
    return by_seeds if look == SEEDS else partial(shuffled_patches.build_panels, knob)


def describe_run(config: RunConfig) -> str:
    """Return how many models a run trains, how large they are, and how long each is trained."""
    sizes = sorted({sum(parameter_count.parameters(member.model).values()) for member in config.members})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    shortest = min(config.recipe(member).epochs or 0.0 for member in config.members)
    longest = config.longest or 0.0
    length = (
        f"{'' if shortest == longest else f'{shortest:g} to '}{stored_results.format_epochs(longest)} each"
    )
    return f"{len(config.members)} models of {size} parameters, {length}{_describe_data_share(config)}."


def _describe_data_share(config: RunConfig) -> str:
    """Return how much of the training set they learn from, where that is not all of it for all of them."""
    shares = sorted({config.recipe(member).train_fraction for member in config.members})
    if shares == [1.0]:
        return ""
    ends = " to ".join(percent(share, 0) for share in dict.fromkeys((shares[0], shares[-1])))
    return f" of {ends} of the training images"


def _describe_variants(knob: Hyperparameter, dataset: str, found: Sequence[Variant]) -> str:
    """Return what a live run's variants come to; the base is the one that is called as the base's value is."""
    own = knob.label(knob.base(BASES[dataset]))
    return describe_knob(found, next((one.name for one in found if one.title == own), ""))


def _draw_form(knob: Hyperparameter) -> tuple[str, RunConfig | ValueError]:
    """Draws the live form; its set, and the run that it describes, or why it cannot be."""
    with page.row():
        dataset = live_runs.choose_dataset(HyperparameterControls.key("knob_set"), tuple(BASES))
        text = _type_values(knob, dataset) if knob.numeric else ""
        epochs = _choose_epochs(knob, float(BASES[dataset].train.epochs or 1.0))
        seeds = widgets.segmented(
            HyperparameterControls.key("knob_seeds"), "Seeds", (1, 2, 3), 1, help="Each of all values."
        )
    picked = () if knob.numeric else _pick_values(knob, dataset)
    try:
        values = knob.parse(text) if knob.numeric else picked
        return dataset, hyperparameters.build_run_config(dataset, knob.name, values, seeds, epochs)
    except ValueError as error:
        return dataset, error


def _choose_epochs(knob: Hyperparameter, start: float) -> float:
    widgets.follow_default(HyperparameterControls.key("knob_epochs"), start)
    why_not = "Set by each value of the hyperparameter." if knob.name == "epochs" else None
    words = "Of every model."
    return widgets.real(
        HyperparameterControls.key("knob_epochs"), "Epochs", start, 1.0, help=words, why_not=why_not
    )


def _type_values(knob: Hyperparameter, dataset: str) -> str:
    """Draws the line that holds the values of a hyperparameter of numbers."""
    offered = ", ".join(knob.label(value) for value in knob.offered(BASES[dataset]))
    widgets.follow_default(HyperparameterControls.key("knob_values"), offered)
    words = f"2 to {MOST_VALUES}, with commas between them."
    return widgets.text(HyperparameterControls.key("knob_values"), "Values", offered, LONGEST, help=words)


def _pick_values(knob: Hyperparameter, dataset: str) -> tuple[Value, ...]:
    """Draws the choice among values that have names, all of them at first; of two there is none."""
    values = knob.offered(BASES[dataset])
    if len(values) == 2:
        return values
    by_name = {f"{knob.name}.{widgets.encode_value(value).replace(',', '-')}": value for value in values}
    names = widgets.pills(
        HyperparameterControls.key("knob_picked"),
        "Values",
        tuple(by_name),
        tuple(by_name),
        least=2,
        most=MOST_VALUES,
        format_func=lambda name: knob.label(by_name[name]),
    )
    return tuple(by_name[name] for name in names)
