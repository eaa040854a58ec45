"""One bug: each bug of the lectures' code alone, against the model without it; what it costs, over seeds and live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.train.experiments import live_runs, stored_results
from pages.views.race import draw_race as race_view
from vitviz.analysis.one_change import Variant, describe_slip, variant
from vitviz.experiments import bugs
from vitviz.experiments.bugs import FIXED, BUGS
from vitviz.experiments.result import Result, Row, read_result_if_any
from vitviz.lessons.experiment_measures import BugCost, measure_bug_gain, select_bug_rows
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.plots.one_change import payload
from vitviz.text import gained, percent, plural

CHANCE = {"digits": 0.1, "shapes": 0.25}
MATH = r"""
Both models begin with the weights of one seed and see the same images in the same order; the recipe is the same.
The cost is the difference of their test accuracies, seed by seed: $\Delta_s = a_s^{\text{bug}} - a_s^{\text{mended}}$.

**Softmax twice.** Of probabilities $p$ the cross-entropy is $-\log\frac{e^{p_y}}{\sum_k e^{p_k}}$. With $p_y = 1$ and
the others 0 it is still $\log(1 + (K - 1)/e)$, 1.46 for ten classes, and its gradient by the logits has the factor
$p_y (1 - p_y)$ of the first softmax: a model that is sure and wrong is hardly corrected.

**Scale.** The product of two vectors of $d$ independent numbers of variance 1 has variance $d$, so $1/\sqrt d$ brings
the scores back to variance 1. With $1/\sqrt D$, $D = h d$, their variance is $1/h$.
"""


@dataclass(frozen=True)
class BugControls(widgets.ControlValues, page="experiments"):
    """The bug, the dataset, the predicted effect, and the live run."""

    slip: str
    slip_set: str
    slip_guess: str
    slip_run: str


def draw() -> None:
    """The choice of a bug, its measured cost, all bugs in a table, and the way to train it here."""
    with page.row():
        name = widgets.select(
            BugControls.key("slip"),
            "Slip",
            tuple(BUGS),
            "softmax",
            format_func=lambda name: BUGS[name].title,
        )
        dataset = live_runs.choose_dataset(BugControls.key("slip_set"), tuple(bugs.SEEDS))
    slip = BUGS[name]
    st.markdown(f"**{slip.title}** ({slip.where}). {slip.why}")
    found = read_result_if_any(f"one_slip_{dataset}")
    if found is None:
        stored_results.draw_missing_note(f"one_slip_{dataset}")
    else:
        _draw_stored(found, name, dataset)
    _draw_live(name, dataset)
    page.drawers("experiments.slip", math=MATH, code=(bugs.configure_fixed, bugs.configure_with_bug, bugs.build_run_config))


def load_pair(found: Result, name: str) -> tuple[list[Variant], list[Row]]:
    """Return the model without the bug and with it, and the rows behind both; fewer where one was not measured."""
    epochs, sides, rows = float(found.settings["epochs"]), [], []
    for key, title in ((f"{FIXED}:{BUGS[name].family}", "Mended"), (name, "With the bug")):
        of = select_bug_rows(found, key)
        if of:
            sides.append(variant(key, title, of, epochs))
            rows += of
    return sides, rows


def write_question(name: str, dataset: str) -> Question:
    """Return what is asked before a bug's cost is shown."""
    proof = ("view", "slip"), ("slip", name), ("slip_set", dataset), ("slip_guess", prediction_gate.SKIPPED)
    return Question(
        f"{BUGS[name].title}: what does it do to the test accuracy on {dataset}?",
        BugCost(name, dataset),
        tuple((f"experiments.{key}", value) for key, value in proof),
    )


def _draw_stored(found: Result, name: str, dataset: str) -> None:
    sides, rows = load_pair(found, name)
    if len(sides) < 2:
        page.caption("This bug was not measured on this dataset yet. Train it below.")
        return
    answered = prediction_gate.require_measured_prediction(
        BugControls.key("slip_guess"), write_question(name, dataset)
    )
    note = f"{dataset}' test images, read once at the end"
    drawn = sides if answered else sides[:1]
    race_view(
        payload(drawn, CHANCE[dataset], float(found.settings["epochs"]), note), key="experiments.slip_view"
    )
    how = stored_results.describe_origin(found, rows)
    if not answered:
        page.caption("This is the model without the bug. Predict to see the other.")
        page.provenance(how)
        return
    page.caption(describe_slip(sides[1], sides[0]))
    page.provenance(how)
    columns = build_columns(found)
    page.table(columns, _WRITTEN, {}, "experiments.slip_table")
    page.csv("All bugs (CSV)", columns, f"one_slip_{dataset}.csv", "experiments.slip_csv")


DIFFERENCES = ("Difference, points", "Lowest", "Highest")
_WRITTEN = dict.fromkeys(("Mended", "With the bug"), percent) | dict.fromkeys(DIFFERENCES, gained)


def build_columns(found: Result) -> dict[str, list[object]]:
    """Return every measured bug's cost, as the file has it."""
    rows = []
    for name, slip in BUGS.items():
        sides, _ = load_pair(found, name)
        cost = measure_bug_gain(found, name)
        if len(sides) == 2 and cost is not None:
            said = "yes" if cost.clear else "one seed" if len(cost.points) == 1 else "no"
            ends = (sides[0].mean, sides[1].mean)
            rows.append(
                (slip.title, *ends, cost.mean, min(cost.points), max(cost.points), len(cost.points), said)
            )
    heads = (
        "Slip",
        "Mended",
        "With the bug",
        "Difference, points",
        "Lowest",
        "Highest",
        "Seeds",
        "All seeds agree",
    )
    return {head: [row[place] for row in rows] for place, head in enumerate(heads)}


def _note_shorter_run(name: str) -> str:
    """Describe how much shorter a family's live run is than its stored one; '' if it is not."""
    share = bugs.LIVE_SHARE[BUGS[name].family]
    return (
        "" if share == 1 else f" ({percent(share, 0)} of the stored epochs, to be done within a minute or so)"
    )


def _draw_live(name: str, dataset: str) -> None:
    config = bugs.build_run_config(dataset, name)
    with page.row():
        label = f"Train both here, {plural(len(bugs.LIVE_SEEDS), 'seed')} each"
        live_runs.draw_start_button(config, "experiments.slip", label, BugControls.key("slip_run"))
        sizes = [sum(parameter_count.parameters(member.model).values()) for member in config.members]
        length = stored_results.format_epochs(config.train.epochs or 0)
        page.caption(
            f"{len(config.members)} models in turn, {length} each{_note_shorter_run(name)}; {sizes[0]:,}"
            f" parameters without the"
            f" bug, {sizes[-1]:,} with it."
        )
    run = live_runs.find_shown_run(BugControls.key("slip_run"), f"{bugs.PRESET}:{name}", dataset)
    if run is not None:
        live_runs.draw(run, live_runs.build_seed_panels(_describe_run))
    selection.link_to(
        "live_lab", "The lectures' whole recipes, as written, in the lab", **{"live_lab.train": "one"}
    )


def _describe_run(found: Sequence[Variant]) -> str:
    return describe_slip(found[1], found[0]) if len(found) == 2 and found[0].test and found[1].test else ""
