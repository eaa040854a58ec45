"""Compare position encodings: the lecture's two tables, and the measured accuracies with and without positions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import streamlit as st
from pages.train.experiments import hyperparameter as hyperparameter_section
from pages.train.experiments import papers, stored_results

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import catalogue
from pages.views.race import draw_race
from vitviz.analysis.one_change import describe_hyperparameter
from vitviz.data.datasets import DATASETS
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result import read_result_if_any
from vitviz.lessons.experiment_measures import list_hyperparameter_variants, select_hyperparameter_rows
from vitviz.plots.one_change import payload
from vitviz.text import join_words, percent, percent_difference
from vitviz.training.races import CODES

LECTURE_POOR, LECTURE_GOOD = (
    0.68,
    0.95,
)  # after ten epochs on MNIST, recipe F; the lecture does not name the tables
RACE = "positions_race.json"
GAP_RANGES = {  # gap of a model without positions to the best table: largest points of each answer
    "2": (2.0, "Up to 2 points"),
    "10": (10.0, "2 to 10 points"),
    "25": (25.0, "10 to 25 points"),
    "more": (100.0, "More"),
}
MATH = r"""
Attention, MLP and LayerNorm are equivariant to permutations $\Pi$ of the patches: $f(\Pi X) = \Pi f(X)$. A model
without positions therefore classifies a *bag* of patches. Which strokes occur, and how often, is informative about a
digit, but contains nothing about left and right.

A **poor table** could be worse than none. It adds numbers to every token that do not depend on the image. If they are
large relative to the patch embedding, or equal for different positions (2-D summed: $(r, c)$ and $(c, r)$), they
obscure the patch without encoding its position. The table above shows whether this happened here.
"""


@dataclass(frozen=True)
class PositionControls(widgets.ControlValues, page="experiments"):
    """The predicted gap between a model without positions and the best table: a key of `GAP_RANGES`."""

    positions_guess: str


def draw() -> None:
    """Draw the lecture's accuracies, the prediction, and the measured accuracies on three datasets."""
    st.markdown(
        f"The lecture compares **two tables** on MNIST after ten epochs: accuracies **{percent(LECTURE_POOR, 0)}** and"
        f" **{percent(LECTURE_GOOD, 0)}**. It does not name them; neither is a model without positions."
    )
    path = catalogue.CHECKPOINTS / RACE
    races = json.loads(path.read_text("utf-8"))["races"] if path.is_file() else {}
    if not races or _ask_prediction(races):
        _draw_results(races)
    else:
        page.caption("Predict to see the measured values.")
    page.drawers("experiments.positions", math=MATH)


def _ask_prediction(races: dict[str, Any]) -> bool:
    """Ask for the gap on MNIST, or the first dataset; return True once it was answered or skipped."""
    name = "mnist" if "mnist" in races else next(iter(races))
    none, _, good = find_extremes(races[name])
    title, epochs = DATASETS[name].title, stored_results.format_epochs(races[name]["train"]["epochs"])
    return prediction_gate.require_prediction(
        PositionControls.key("positions_guess"),
        name,
        f"How far below the best table is a model **without** positions on {title} after {epochs}?",
        {guess: label for guess, (_, label) in GAP_RANGES.items()},
        lambda guess: describe_prediction(100 * (good[1] - none), guess),
    )


def describe_prediction(points: float, guess: str) -> str:
    """Compare the predicted range with the measured gap in points."""
    right = next((name for name, (most, _) in GAP_RANGES.items() if points <= most), "more")
    verdict = "right" if guess == right else "wrong"
    side = "below" if points >= 0 else "above"
    predicted = GAP_RANGES[guess][1].lower()
    return (
        f"Your prediction: {predicted}: {verdict}. Measured: {abs(points):.1f} points {side} the best table."
    )


def _draw_results(races: dict[str, Any]) -> None:
    if races:
        columns = build_columns(races)
        page.table(columns, _WRITTEN, {}, "experiments.positions_table")
        page.caption(describe_races(races))
        page.csv("These accuracies (CSV)", columns, "positions.csv", "experiments.positions_csv")
    selection.link_to("positions", "Open the curves and shuffled patches", **{"positions.view": "matter"})
    selection.link_to(
        "experiments",
        "Train the encodings live",
        **hyperparameter_section.build_query("positions", hyperparameter_section.LIVE),
    )
    stored = read_result_if_any("one_knob_digits")
    rows = {} if stored is None else select_hyperparameter_rows(stored, "positions")
    if stored is not None and len(rows) > 1:
        variants = list_hyperparameter_variants(stored, HYPERPARAMETERS["positions"])
        base = hyperparameter_section.get_base_name(HYPERPARAMETERS["positions"])
        epochs = float(stored.settings["epochs"])
        draw_race(payload(variants, 0.1, epochs, "test images of digits"), key="experiments.positions_view")
        page.caption(f"Over seeds, on digits. {describe_hyperparameter(variants, base)}")
        page.provenance(
            stored_results.describe_origin(
                stored, [row for value_rows in rows.values() for row in value_rows]
            )
        )
    papers.cite_papers(HYPERPARAMETERS["positions"].literature)


_WRITTEN = dict.fromkeys(("No positions", "Poorest table", "Best table"), percent)


def build_columns(races: dict[str, Any]) -> dict[str, list[object]]:
    """Return the table's columns: by dataset, accuracy without positions and with the poorest and best tables."""
    heads = (
        "Dataset",
        "Epochs",
        "No positions",
        "Poorest table",
        "Poorest encoding",
        "Best table",
        "Best encoding",
    )
    rows = []
    for name, race in races.items():
        none, (poor, least), (good, most) = find_extremes(race)
        titles = CODES[poor], CODES[good]  # type: ignore[index]
        epochs = race["train"]["epochs"]
        rows.append((DATASETS[name].title, epochs, none, least, titles[0], most, titles[1]))
    return {head: [row[column] for row in rows] for column, head in enumerate(heads)}


def find_extremes(race: dict[str, Any]) -> tuple[float, tuple[str, float], tuple[str, float]]:
    """Return the test accuracy without positions, and name and accuracy of the poorest and the best table."""
    reached = {run["positions"]: float(run["measured"]["accuracy"]) for run in race["runs"]}
    none = reached.pop("none")
    poor, good = (choose(reached, key=reached.__getitem__) for choose in (min, max))
    return none, (poor, reached[poor]), (good, reached[good])


def describe_races(races: dict[str, Any]) -> str:
    """Describe the gaps of no positions and of the poorest table by dataset, and compare the lecture's gap."""
    descriptions = []
    for name, race in races.items():
        none, poor, good = find_extremes(race)
        descriptions.append(
            f"on {DATASETS[name].title} after "
            f"{stored_results.format_epochs(race['train']['epochs'])} no positions reach {percent(none)},"
            f" {abs(percent_difference(good[1], none)):.1f} points"
            f" {'below' if none <= good[1] else 'above'} the best table; the poorest table is"
            f" {percent_difference(good[1], poor[1]):.1f} points below the best"
        )
    text = f"One seed each: {'; '.join(descriptions)}."
    if "mnist" in races:
        none, _, good = find_extremes(races["mnist"])
        lecture, worth = percent_difference(LECTURE_GOOD, LECTURE_POOR), percent_difference(good[1], none)
        if lecture > worth:
            text += (
                f" The lecture's two tables are {lecture:.0f} points apart; on MNIST the best table gains only"
                f" {worth:.1f} points here. {_describe_harmful_tables(races)}"
            )
    return text


def _describe_harmful_tables(races: dict[str, Any]) -> str:
    """Name the datasets on which a table is worse than none, which would explain the lecture's poor table."""
    worse = [
        DATASETS[name].title
        for name, race in races.items()
        if find_extremes(race)[1][1] < find_extremes(race)[0]
    ]
    if worse:
        return f"A table is worse than none, as the lecture's poor one may be, when measured on {join_words(worse)}."
    return "No measured table is worse than none, so the lecture's poor table remains unexplained."
