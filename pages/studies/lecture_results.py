"""Study the accuracies printed in the lectures: recipes as written, over seeds, and improved ones."""

from statistics import mean

import streamlit as st

from pages.questions.prediction_gate import ask_highest
from pages.selection import selection
from pages.studies.study import SHARES, Evidence, Study, Table, View, create_seed_columns
from vitviz.experiments.lecture_results import ACCURACIES, NAME
from vitviz.experiments.result_file import Result, read_result_if_any
from vitviz.plots.hybrids import seeds_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, percent_difference
from vitviz.training.presets import TRAINING_PRESETS

GUESS = "studies.lecture_guess"


def build(mode: Mode) -> View | None:
    stored = read_result_if_any(NAME)
    if stored is None:
        return None
    rows = [
        (printed, preset, tests)
        for printed in ACCURACIES
        for preset in (printed.written, *printed.improved)
        if (tests := list_accuracies(stored, preset))
    ]
    titles = [
        ("" if preset.startswith("recipe") else f"{printed.recipe}, improved by this project: ")
        + TRAINING_PRESETS[preset].title
        for printed, preset, _ in rows
    ]
    table = Table(
        {
            "Recipe": titles,
            "Printed": [printed.accuracy for printed, *_ in rows],
            **create_seed_columns([tests for *_, tests in rows]),
        },
        SHARES | {"Printed": percent},
        f"{NAME}.csv",
    )
    gaps = measure_gaps(stored)
    return View(
        seeds_figure(titles, [tests for *_, tests in rows], -1, mode, [row[0].accuracy for row in rows]),
        describe_gaps(gaps),
        ask_highest(
            GUESS,
            NAME,
            "Which recipe of the lectures, trained as written, differs most from its printed accuracy?",
            {recipe: abs(gap) for recipe, gap in gaps.items()},
            lambda points: f"{points:.1f} points",
        ),
        (Evidence(stored, stored.rows, "each recipe with its own epochs; one thread"),),
        "Each printed accuracy is of one run without a stated seed. Recipe F does not state which two position tables"
        " it compares.",
        table,
        below=_draw_links,
    )


def list_accuracies(stored: Result, preset: str) -> list[float]:
    return [float(row["test"]) for row in stored.where(preset=preset) if "test" in row]


def measure_gaps(stored: Result) -> dict[str, float]:
    """Return the mean accuracy of each recipe as written minus the printed one, in points."""
    return {
        printed.recipe: percent_difference(mean(tests), printed.accuracy)
        for printed in ACCURACIES
        if (tests := list_accuracies(stored, printed.written))
    }


def describe_gaps(gaps: dict[str, float]) -> str:
    """Describe how many recipes reach their printed accuracy, and the largest difference."""
    if not gaps:
        return "No recipe was trained as written yet."
    reached = sum(gap >= 0 for gap in gaps.values())
    recipe, gap = max(gaps.items(), key=lambda entry: abs(entry[1]))
    height = f"{abs(gap):.1f} points {'above' if gap >= 0 else 'below'}"
    if len(gaps) == 1:
        return f"Only recipe {recipe} was trained as written: it is {height} its printed accuracy."
    return (
        f"Trained as written, {reached} of {len(gaps)} recipes reach the printed accuracy; recipe {recipe}"
        f" differs most, {height} it."
    )


def _draw_links() -> None:
    presets = dict.fromkeys(name for printed in ACCURACIES for name in (printed.written, *printed.improved))
    with st.expander("Train a recipe live", icon=":material/experiment:"):
        for preset in presets:
            selection.link_to(
                "live_lab",
                f"Train '{TRAINING_PRESETS[preset].title}'",
                **{"live_lab.train": "one", "live_lab.recipe": preset},
            )


STUDY = Study(
    NAME,
    "The lecture's accuracies",
    "Do the lecture's recipes, trained as written, reach their printed accuracies?",
    4,
    (NAME,),
    build,
    keys=(GUESS,),
)
