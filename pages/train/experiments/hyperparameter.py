"""One knob: any one field of the model or its recipe over a few values, stored over seeds, and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import pills, widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.train.experiments import live_runs, papers, shuffled_patches, stored_results
from pages.views import race
from vitviz.analysis.one_change import Variant, describe_knob, gain
from vitviz.experiments import hyperparameters
from vitviz.experiments.hyperparameter import BASES, MOST_VALUES, Knob, Value
from vitviz.experiments.hyperparameters import KNOBS, SUBJECT_OF
from vitviz.experiments.result import kept_result
from vitviz.lessons.experiment_measures import KnobBest, knob_rows, knob_variants
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
Everything but one field is the same: the pictures, their order, the seed of the weights, the recipe. What differs is
therefore due to this field *at this budget*: a value that learns more slowly may win where all train longer.

**Paired seeds.** The difference to the base is taken seed by seed, $\Delta_s = a_s - a_s^{\text{base}}$, and its
smallest and largest value are said beside the mean. Where they have one sign, every seed agrees.

**Parameters.** A block has $(4 + 2r) D^2$ weights in its linear maps, $r$ the MLP's ratio: heads, readout, scale and
norm leave that as it is; depth multiplies it, width squares it.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="experiments"):
    """Which knob, stored or live, which value is guessed to be best, what the live form asks for, and its run."""

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
    """The choice of a knob, then what was stored of it or the live form with its run."""
    with page.row():
        name = widgets.select(
            Choice.key("knob"),
            "Knob",
            tuple(SUBJECT_OF),
            "num_heads",
            format_func=lambda name: f"{SUBJECT_OF[name]} · {KNOBS[name].title}",
            help="By what it is about; type a part of a name to find it.",
        )
        knob = KNOBS[name]
        how = _how() if knob.stored else LIVE
    _draw_live(knob) if how == LIVE else _draw_stored(knob)
    papers.say(knob.said)
    math = MATH + race.MATH if knob.shuffled else MATH
    page.drawers("experiments.knob", math=math, code=(Knob.turned, hyperparameters.run_config))


def _how() -> str:
    """Draws the choice between what is stored and a run; a knob that no stored experiment turns has none."""
    return widgets.segmented(Choice.key("how"), "Measured", tuple(HOWS), STORED, format_func=HOWS.__getitem__)


def _draw_stored(knob: Knob) -> None:
    found = kept_result("one_knob_digits")
    rows = {} if found is None else knob_rows(found, knob.name)
    if found is None or len(rows) < 2:
        st.info(
            f"{knob.title} was not turned in the stored experiment as yet: train it here.",
            icon=":material/timer:",
        )
        return
    shown = knob_variants(found, knob)
    epochs = float(found.settings["epochs"])
    answered = prediction_gate.measured(Choice.key("knob_guess"), question(knob))
    drawn = shown if answered else [one for one in shown if one.name == base_name(knob)]
    race.race(
        payload(drawn, 0.1, epochs, "digits' test pictures, read once at the end"),
        key="experiments.knob_view",
    )
    how = stored_results.how(found, [row for value in rows.values() for row in value])
    if not answered:
        page.caption(f"{_base_alone(knob, drawn)}A guess shows the others. {how}")
        return
    page.caption(describe_knob(shown, base_name(knob)))
    page.caption(how)
    columns = columns_of(shown, base_name(knob))
    page.table(columns, _WRITTEN, formats(columns), "experiments.knob_table")
    page.csv("All numbers (CSV)", columns, f"one_knob_{knob.name}.csv", "experiments.knob_csv")


def address(name: str, how: str) -> dict[str, str]:
    """What a link to a knob says, stored or live."""
    return {"experiments.view": "knob", Choice.key("knob"): name, Choice.key("how"): how}


def question(knob: Knob) -> Question:
    """What is asked before a knob's values are shown."""
    proof = {**address(knob.name, STORED), Choice.key("knob_guess"): prediction_gate.SHOWN}
    return Question(
        f"Which value of '{knob.title}' has the highest mean accuracy on the digits?",
        KnobBest(knob.name),
        tuple(proof.items()),
    )


def _base_alone(knob: Knob, drawn: Sequence[Variant]) -> str:
    return "".join(f"This is the base, '{knob.title}' at {one.title}. " for one in drawn)


def base_name(knob: Knob) -> str:
    """The name of the variant that is the base itself."""
    return f"{knob.base(BASES['digits'])}"


AGAINST = "Against the base, points"
_WRITTEN = dict.fromkeys(("Mean", "Lowest", "Highest"), percent) | {AGAINST: gained}
COSTS = {"Training, core-seconds": "%.1f", "Parameters": "localized"}


def formats(columns: dict[str, list[object]]) -> dict[str, Any]:
    """How the columns are shown: time and parameters as bars from 0 on, so that they are seen against the knob."""
    tops = {name: max((float(str(v)) for v in columns[name] if v is not None), default=1.0) for name in COSTS}
    return {
        name: st.column_config.ProgressColumn(format=shape, min_value=0, max_value=tops[name] or 1.0)
        for name, shape in COSTS.items()
    }


def columns_of(shown: list[Variant], base: str) -> dict[str, list[object]]:
    """Every variant's numbers, as the file has them."""
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


def _draw_live(knob: Knob) -> None:
    dataset, config = _form(knob)
    with page.row():
        live_runs.start_button(
            config, "experiments.knob", "Train them, one after the other", Choice.key("knob_run")
        )
        if not isinstance(config, ValueError):
            page.caption(ordered(config))
    run = live_runs.on_stage(Choice.key("knob_run"), f"{hyperparameters.PRESET}:{knob.name}", dataset)
    if run is not None:
        live_runs.draw(run, _look(knob, dataset))


def _look(knob: Knob, dataset: str) -> live_runs.Show:
    """Draws the choice of what stands beside the curves, where the knob has one."""
    by_seeds = live_runs.by_seeds(partial(_tell, knob, dataset))
    if not knob.shuffled:
        return by_seeds
    key = Choice.key("knob_look")
    look = widgets.segmented(key, "Beside the curves", tuple(LOOKS), format_func=LOOKS.__getitem__)
    return by_seeds if look == SEEDS else partial(shuffled_patches.show, knob)


def ordered(config: RunConfig) -> str:
    """How many models a run trains, how large they are, and how long each is trained."""
    sizes = sorted({sum(parameter_count.parameters(member.model).values()) for member in config.members})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    shortest = min(config.recipe(member).epochs or 0.0 for member in config.members)
    longest = config.longest or 0.0
    length = f"{'' if shortest == longest else f'{shortest:g} to '}{stored_results.epochs(longest)} each"
    return f"{len(config.members)} models of {size} parameters, {length}{_share(config)}."


def _share(config: RunConfig) -> str:
    """How much of the training set they learn from, where that is not all of it for all of them."""
    shares = sorted({config.recipe(member).train_fraction for member in config.members})
    if shares == [1.0]:
        return ""
    ends = " to ".join(percent(share, 0) for share in dict.fromkeys((shares[0], shares[-1])))
    return f" of {ends} of the training pictures"


def _tell(knob: Knob, dataset: str, found: Sequence[Variant]) -> str:
    """What a live run's variants come to; the base is the one that is called as the base's value is."""
    own = knob.label(knob.base(BASES[dataset]))
    return describe_knob(found, next((one.name for one in found if one.title == own), ""))


def _form(knob: Knob) -> tuple[str, RunConfig | ValueError]:
    """Draws the live form; its set, and the run that it describes, or why it cannot be."""
    with page.row():
        dataset = live_runs.dataset(Choice.key("knob_set"), tuple(BASES))
        text = _typed(knob, dataset) if knob.numeric else ""
        epochs = _epochs(knob, float(BASES[dataset].train.epochs or 1.0))
        seeds = widgets.segmented(Choice.key("knob_seeds"), "Seeds", (1, 2, 3), 1, help="Each of all values.")
    picked = () if knob.numeric else _picked(knob, dataset)
    try:
        values = knob.parse(text) if knob.numeric else picked
        return dataset, hyperparameters.run_config(dataset, knob.name, values, seeds, epochs)
    except ValueError as error:
        return dataset, error


def _epochs(knob: Knob, start: float) -> float:
    widgets.follow_default(Choice.key("knob_epochs"), start)
    why_not = "They are the knob: each value says its own." if knob.name == "epochs" else None
    words = "Of every model."
    return widgets.real(Choice.key("knob_epochs"), "Epochs", start, 1.0, help=words, why_not=why_not)


def _typed(knob: Knob, dataset: str) -> str:
    """Draws the line that holds the values of a knob of numbers."""
    offered = ", ".join(knob.label(value) for value in knob.offered(BASES[dataset]))
    widgets.follow_default(Choice.key("knob_values"), offered)
    words = f"2 to {MOST_VALUES}, with commas between them."
    return widgets.text(Choice.key("knob_values"), "Values", offered, LONGEST, help=words)


def _picked(knob: Knob, dataset: str) -> tuple[Value, ...]:
    """Draws the choice among values that have names, all of them at first; of two there is none."""
    values = knob.offered(BASES[dataset])
    if len(values) == 2:
        return values
    by_name = {f"{knob.name}.{widgets.encode(value).replace(',', '-')}": value for value in values}
    names = pills.pills(
        Choice.key("knob_picked"),
        "Values",
        tuple(by_name),
        tuple(by_name),
        least=2,
        most=MOST_VALUES,
        format_func=lambda name: knob.label(by_name[name]),
    )
    return tuple(by_name[name] for name in names)
