"""One slip: each slip of the lectures' code alone, against the model without it; what it costs, over seeds and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.train.experiments import live_runs, stored_results
from pages.views.race import race as race_view
from vitviz.analysis.one_change import Variant, describe_slip, variant
from vitviz.experiments import bugs
from vitviz.experiments.bugs import MENDED, SLIPS
from vitviz.experiments.result import Result, Row, kept_result
from vitviz.lessons.experiment_measures import SlipCost, slip_gain, slip_rows
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.plots.one_change import payload
from vitviz.text import gained, percent, plural

CHANCE = {"digits": 0.1, "shapes": 0.25}
MATH = r"""
Both models begin with the weights of one seed and see the same pictures in the same order; the recipe is the same.
The cost is the difference of their test accuracies, seed by seed: $\Delta_s = a_s^{\text{slip}} - a_s^{\text{mended}}$.

**Softmax twice.** Of probabilities $p$ the cross-entropy is $-\log\frac{e^{p_y}}{\sum_k e^{p_k}}$. With $p_y = 1$ and
the others 0 it is still $\log(1 + (K - 1)/e)$, 1.46 for ten classes, and its gradient by the logits has the factor
$p_y (1 - p_y)$ of the first softmax: a model that is sure and wrong is hardly corrected.

**Scale.** The product of two vectors of $d$ independent numbers of variance 1 has variance $d$, so $1/\sqrt d$ brings
the scores back to variance 1. With $1/\sqrt D$, $D = h d$, their variance is $1/h$.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="experiments"):
    """Which slip, on which set, what it is guessed to do, and its run here."""

    slip: str
    slip_set: str
    slip_guess: str
    slip_run: str


def draw() -> None:
    """The choice of a slip, its measured cost, all slips in a table, and the way to train it here."""
    with page.row():
        name = widgets.select(
            Choice.key("slip"), "Slip", tuple(SLIPS), "softmax", format_func=lambda name: SLIPS[name].title
        )
        dataset = live_runs.dataset(Choice.key("slip_set"), tuple(bugs.SEEDS))
    slip = SLIPS[name]
    st.markdown(f"**{slip.title}** ({slip.where}). {slip.why}")
    found = kept_result(f"one_slip_{dataset}")
    if found is None:
        stored_results.missing(f"one_slip_{dataset}")
    else:
        _draw_stored(found, name, dataset)
    _draw_live(name, dataset)
    page.drawers("experiments.slip", math=MATH, code=(bugs.mended, bugs.slipped, bugs.run_config))


def pair(found: Result, name: str) -> tuple[list[Variant], list[Row]]:
    """The model without the slip and with it, and the rows behind both; fewer where one was not measured."""
    epochs, sides, rows = float(found.settings["epochs"]), [], []
    for key, title in ((f"{MENDED}:{SLIPS[name].family}", "Mended"), (name, "With the slip")):
        of = slip_rows(found, key)
        if of:
            sides.append(variant(key, title, of, epochs))
            rows += of
    return sides, rows


def question(name: str, dataset: str) -> Question:
    """What is asked before a slip's cost is shown."""
    proof = ("view", "slip"), ("slip", name), ("slip_set", dataset), ("slip_guess", prediction_gate.SHOWN)
    return Question(
        f"{SLIPS[name].title}: what does it do to the test accuracy on {dataset}?",
        SlipCost(name, dataset),
        tuple((f"experiments.{key}", value) for key, value in proof),
    )


def _draw_stored(found: Result, name: str, dataset: str) -> None:
    sides, rows = pair(found, name)
    if len(sides) < 2:
        page.caption("This slip was not measured on this set as yet: train it below.")
        return
    answered = prediction_gate.measured(Choice.key("slip_guess"), question(name, dataset))
    note = f"{dataset}' test pictures, read once at the end"
    drawn = sides if answered else sides[:1]
    race_view(
        payload(drawn, CHANCE[dataset], float(found.settings["epochs"]), note), key="experiments.slip_view"
    )
    how = stored_results.how(found, rows)
    if not answered:
        page.caption(f"This is the model without the slip; a guess shows the other. {how}")
        return
    page.caption(describe_slip(sides[1], sides[0]))
    page.caption(how)
    columns = columns_of(found)
    page.table(columns, _WRITTEN, {}, "experiments.slip_table")
    page.csv("All slips (CSV)", columns, f"one_slip_{dataset}.csv", "experiments.slip_csv")


DIFFERENCES = ("Difference, points", "Lowest", "Highest")
_WRITTEN = dict.fromkeys(("Mended", "With the slip"), percent) | dict.fromkeys(DIFFERENCES, gained)


def columns_of(found: Result) -> dict[str, list[object]]:
    """Every measured slip's cost, as the file has it."""
    rows = []
    for name, slip in SLIPS.items():
        sides, _ = pair(found, name)
        cost = slip_gain(found, name)
        if len(sides) == 2 and cost is not None:
            said = "yes" if cost.clear else "one seed" if len(cost.points) == 1 else "no"
            ends = (sides[0].mean, sides[1].mean)
            rows.append(
                (slip.title, *ends, cost.mean, min(cost.points), max(cost.points), len(cost.points), said)
            )
    heads = (
        "Slip",
        "Mended",
        "With the slip",
        "Difference, points",
        "Lowest",
        "Highest",
        "Seeds",
        "All seeds agree",
    )
    return {head: [row[place] for row in rows] for place, head in enumerate(heads)}


def _shorter(name: str) -> str:
    """That a family's live run is shorter than its stored one, where it is."""
    share = bugs.LIVE_SHARE[SLIPS[name].family]
    return (
        "" if share == 1 else f" ({percent(share, 0)} of the stored epochs, to be done within a minute or so)"
    )


def _draw_live(name: str, dataset: str) -> None:
    config = bugs.run_config(dataset, name)
    with page.row():
        label = f"Train both here, {plural(len(bugs.LIVE_SEEDS), 'seed')} each"
        live_runs.start_button(config, "experiments.slip", label, Choice.key("slip_run"))
        sizes = [sum(parameter_count.parameters(member.model).values()) for member in config.members]
        length = stored_results.epochs(config.train.epochs or 0)
        page.caption(
            f"{len(config.members)} models in turn, {length} each{_shorter(name)}; {sizes[0]:,} parameters without the"
            f" slip, {sizes[-1]:,} with it."
        )
    run = live_runs.on_stage(Choice.key("slip_run"), f"{bugs.PRESET}:{name}", dataset)
    if run is not None:
        live_runs.draw(run, live_runs.by_seeds(_tell))
    selection.link_to(
        "live_lab", "The lectures' whole recipes, as written, in the lab", **{"live_lab.train": "one"}
    )


def _tell(found: Sequence[Variant]) -> str:
    return describe_slip(found[1], found[0]) if len(found) == 2 and found[0].test and found[1].test else ""
