"""Why positions: none, a poor table and a good one, as the lecture has them and as they are measured here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import catalogue
from pages.train.experiments import hyperparameter as knob_section
from pages.train.experiments import papers, stored_results
from pages.views.race import draw_race as race_view
from vitviz.analysis.one_change import describe_knob
from vitviz.data.datasets import DATASETS
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result import read_result_if_any
from vitviz.lessons.experiment_measures import list_hyperparameter_variants, select_hyperparameter_rows
from vitviz.plots.one_change import payload
from vitviz.text import join_words, percent, percent_difference
from vitviz.training.races import CODES

LECTURE_POOR, LECTURE_GOOD = 0.68, 0.95  # after ten epochs of MNIST, recipe F: two tables, not said which
RACE = "positions_race.json"
GAP_RANGES = {  # points that a model without positions lies below the best table: the largest of each guess
    "2": (2.0, "Up to 2 points"),
    "10": (10.0, "2 to 10 points"),
    "25": (25.0, "10 to 25 points"),
    "more": (100.0, "More"),
}
MATH = r"""
Attention, MLP and LayerNorm treat a set of tokens: with a permutation $\Pi$ of the patches $f(\Pi X) = \Pi f(X)$. A
model without positions therefore reads a *bag* of patches. That is not nothing: which strokes occur, and how often,
says much about a digit, and nothing about left and right.

A **poor table** could be worse than none. It adds a number to every token that does not depend on the image; where
the numbers are large beside the patch's own, or alike for places that differ (2-D summed: $(r, c)$ and $(c, r)$), it
covers what the patch shows without saying where it lies. Whether one measured here is, the table above says.
"""


@dataclass(frozen=True)
class PositionControls(widgets.ControlValues, page="experiments"):
    """The predicted gap of `LESS` between a model without positions and the best one."""

    positions_guess: str


def draw() -> None:
    """The lecture's two numbers, the app's own race on three sets, and the stored hyperparameter on digits."""
    st.markdown(
        f"The lecture compares **two tables** on MNIST, after ten epochs: **{percent(LECTURE_POOR, 0)}** with one,"
        f" **{percent(LECTURE_GOOD, 0)}** with the other. It does not say which; it is *not* a model without positions."
    )
    path = catalogue.CHECKPOINTS / RACE
    races = json.loads(path.read_text("utf-8"))["races"] if path.is_file() else {}
    if not races or _ask_prediction(races):
        _draw_results(races)
    else:
        page.caption("Predict to see the measured values.")
    page.drawers("experiments.positions", math=MATH)


def _ask_prediction(races: dict[str, Any]) -> bool:
    """Asks what positions are worth on the lecture's set, or the first one; whether the results may be shown."""
    name = "mnist" if "mnist" in races else next(iter(races))
    none, _, good = find_extremes(races[name])
    title, epochs = DATASETS[name].title, stored_results.format_epochs(races[name]["train"]["epochs"])
    return prediction_gate.require_prediction(
        PositionControls.key("positions_guess"),
        name,
        f"How far below the best table does a model **without** positions end on {title}, after {epochs} here?",
        {guess: title for guess, (_, title) in GAP_RANGES.items()},
        lambda guess: describe_prediction(100 * (good[1] - none), guess),
    )


def describe_prediction(points: float, guess: str) -> str:
    """Return True if a guess of `LESS` was right; points that no positions lie below the best table."""
    right = next((name for name, (most, _) in GAP_RANGES.items() if points <= most), "more")
    verdict = "right" if guess == right else "wrong"
    side = "below" if points >= 0 else "above"
    return (
        f"Your prediction: {GAP_RANGES[guess][1].lower()}: {verdict}, it ends {abs(points):.1f} points {side} it."
    )


def _draw_results(races: dict[str, Any]) -> None:
    if races:
        columns = build_columns(races)
        page.table(columns, _WRITTEN, {}, "experiments.positions_table")
        page.caption(describe_races(races))
        page.csv("These accuracies (CSV)", columns, "positions.csv", "experiments.positions_csv")
    selection.link_to("positions", "The race's curves, and shuffled patches", **{"positions.view": "matter"})
    selection.link_to(
        "experiments", "Race the encodings live", **knob_section.build_query("positions", knob_section.LIVE)
    )
    found = read_result_if_any("one_knob_digits")
    rows = {} if found is None else select_hyperparameter_rows(found, "positions")
    if found is not None and len(rows) > 1:
        shown = list_hyperparameter_variants(found, HYPERPARAMETERS["positions"])
        epochs = float(found.settings["epochs"])
        race_view(payload(shown, 0.1, epochs, "digits' test images"), key="experiments.positions_view")
        page.caption(
            f"Over seeds, on digits. {describe_knob(shown, knob_section.get_base_name(HYPERPARAMETERS['positions']))}"
        )
        page.provenance(
            stored_results.describe_origin(found, [row for value in rows.values() for row in value])
        )
    papers.cite_papers(HYPERPARAMETERS["positions"].said)


_WRITTEN = dict.fromkeys(("No positions", "Poorest table", "Best table"), percent)


def build_columns(races: dict[str, Any]) -> dict[str, list[object]]:
    """By set the accuracy without positions, and of the poorest and the best table, as the race's file has them."""
    heads = (
        "Set",
        "Epochs",
        "No positions",
        "Poorest table",
        "Poorest encoding",
        "Best table",
        "Best encoding",
    )
    lines = []
    for name, race in races.items():
        none, (poor, least), (good, most) = find_extremes(race)
        titles = CODES[poor], CODES[good]  # type: ignore[index]
        epochs = race["train"]["epochs"]
        lines.append((DATASETS[name].title, epochs, none, least, titles[0], most, titles[1]))
    return {head: [line[place] for line in lines] for place, head in enumerate(heads)}


def find_extremes(race: dict[str, Any]) -> tuple[float, tuple[str, float], tuple[str, float]]:
    """Return the test accuracy without positions, and name and accuracy of the poorest and the best table."""
    reached = {run["positions"]: float(run["measured"]["accuracy"]) for run in race["runs"]}
    none = reached.pop("none")
    poor, good = (choose(reached, key=reached.__getitem__) for choose in (min, max))
    return none, (poor, reached[poor]), (good, reached[good])


def describe_races(races: dict[str, Any]) -> str:
    """Return what none and a poor table cost, set by set, beside the lecture's numbers."""
    said = []
    for name, race in races.items():
        none, poor, good = find_extremes(race)
        said.append(
            f"on {DATASETS[name].title} after "
            f"{stored_results.format_epochs(race['train']['epochs'])} none has {percent(none)},"
            f" {abs(percent_difference(good[1], none)):.1f} points"
            f" {'below' if none <= good[1] else 'above'} the best table, and the"
            f" poorest table lies {percent_difference(good[1], poor[1]):.1f} points below the best"
        )
    words = f"Here, one seed each: {'; '.join(said)}."
    if "mnist" in races:
        none, _, good = find_extremes(races["mnist"])
        lecture, worth = percent_difference(LECTURE_GOOD, LECTURE_POOR), percent_difference(good[1], none)
        if lecture > worth:
            words += (
                f" The lecture's two tables lie {lecture:.0f} points apart, and on MNIST all that a table adds here is"
                f" {worth:.1f}. {_describe_harmful_tables(races)}"
            )
    return words


def _describe_harmful_tables(races: dict[str, Any]) -> str:
    """Return True if any table is worse than none, which would tell what the lecture's poor one was."""
    worse = [
        DATASETS[name].title
        for name, race in races.items()
        if find_extremes(race)[1][1] < find_extremes(race)[0]
    ]
    if worse:
        return f"A table that does worse than none, as the lecture's poor one may, is measured on {join_words(worse)}."
    return "No table measured here does worse than none, so what the lecture's poor one was stays open."
