"""Study position encodings: accuracy with and without them, on images and on images with shuffled patches."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.frame import page, training_runs
from pages.questions.prediction_gate import Prediction, ask_options
from pages.selection import selection
from pages.stores import catalogue
from pages.studies import hyperparameter
from pages.studies.study import Choice, Race, Study, Table, View
from pages.views.figures import RACE_MATH
from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import (
    Racer,
    create_racer,
    describe_shuffling,
    describe_summed_positions,
    format_epochs,
)
from vitviz.analysis.verdict import compare_family, judge_difference
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.experiments.result_file import TEST_IMAGES
from vitviz.plots.theme import Mode
from vitviz.text import percent, percent_difference
from vitviz.training.position_race import CODES, RACES

RACE_FILE = "positions_race.json"
GUESS = "experiments.positions_guess"
SEEDS = "seeds"  # the option of the digits over seeds
LECTURE_POOR, LECTURE_GOOD = 0.68, 0.95  # after ten epochs on MNIST, recipe F; the tables are not named
GAP_RANGES = {  # gap of a model without positions to the best encoding: largest points of each answer
    "2": (2.0, "Up to 2 points"),
    "10": (10.0, "2 to 10 points"),
    "25": (25.0, "10 to 25 points"),
    "more": (100.0, "More"),
}
StoredRace = dict[str, Any]  # as written by benchmarks/positions_race.py


def load_races() -> dict[str, StoredRace]:
    """Load the stored race of every dataset; none if there is no file."""
    path = catalogue.CHECKPOINTS / RACE_FILE
    races = json.loads(path.read_text("utf-8"))["races"] if path.is_file() else {}
    return {name: races[name] for name in RACES if name in races}


def list_races() -> dict[str, str]:
    """Return the datasets whose race is stored, and the digits over seeds."""
    return {name: DATASETS[name].title for name in load_races()} | {SEEDS: "Digits, several seeds"}


def build(mode: Mode, name: str) -> View:
    """Return the curves of every encoding, and what they lose on shuffled patches or over seeds."""
    return hyperparameter.build(mode, "positions") if name == SEEDS else _build_race_view(name)


def _build_race_view(name: str) -> View:
    race = load_races()[name]
    racers, classes, epochs = list_racers(race), race["classes"], float(race["train"]["epochs"])
    reached = {run["positions"]: float(run["measured"]["accuracy"]) for run in race["runs"]}
    captions = (
        describe_gap(name, epochs, reached),
        describe_lecture(reached) if name == "mnist" else "",
        describe_summed_positions(racers, classes),
        describe_shuffling(racers),
    )
    return View(
        Race(
            [
                Variant(racer.name, racer.title, racer.curve, {}, (), parameters=0, images=0)
                for racer in racers
            ],
            1 / len(classes),
            epochs,
            racers=racers,
            known=[racer.name for racer in racers if racer.name != "none"],
        ),
        " ".join(filter(None, captions)),
        _ask(name, epochs, reached),
        notes=_describe_measurement(race),
        table=_create_table(name, race),
        findings="hyperparameter.positions",
        above=partial(training_runs.draw_race_question, name) if name in available_datasets() else None,
        below=partial(
            selection.link_to,
            "live_lab",
            "Train these models live",
            **{"live_lab.train": "experiment", "live_lab.race": name},
        ),
    )


def list_racers(race: StoredRace) -> list[Racer]:
    return [
        create_racer(run["positions"], CODES[run["positions"]], np.array(run["curve"]).T, [run["measured"]])
        for run in race["runs"]
    ]


def _ask(dataset: str, epochs: float, reached: Mapping[str, float]) -> Prediction:
    """Ask for the gap between no positions and the best encoding."""
    none, _, good = find_extremes(reached)
    return ask_options(
        GUESS,
        dataset,
        f"How far below the best encoding is a model **without** positions on {DATASETS[dataset].title} after"
        f" {format_epochs(epochs)}?",
        {guess: label for guess, (_, label) in GAP_RANGES.items()},
        lambda guess: describe_prediction(percent_difference(reached[good], none), guess),
    )


def describe_prediction(points: float, guess: str) -> str:
    right = next((name for name, (most, _) in GAP_RANGES.items() if points <= most), "more")
    verdict = "right" if guess == right else "wrong"
    side = "below" if points >= 0 else "above"
    predicted = GAP_RANGES[guess][1].lower()
    return f"Your prediction: {predicted}: {verdict}. Measured: {abs(points):.1f} points {side} the best encoding."


def find_extremes(reached: Mapping[str, float]) -> tuple[float, str, str]:
    """Return the accuracy without positions, and the names of the poorest and the best encoding.

    Args:
        reached: test accuracy by encoding.
    """
    tables = {name: accuracy for name, accuracy in reached.items() if name != "none"}
    return reached["none"], min(tables, key=tables.__getitem__), max(tables, key=tables.__getitem__)


def describe_gap(dataset: str, epochs: float, reached: Mapping[str, float]) -> str:
    """Compare the model without positions and the worst one with the best encoding."""
    none, poor, good = find_extremes(reached)
    gap = percent_difference(reached[good], none)
    titles: Mapping[str, str] = CODES  # type: ignore[assignment]
    best = describe_best(dataset, reached)
    return (
        f"Without positions a ViT reaches {percent(none)} on {DATASETS[dataset].title} after {format_epochs(epochs)},"
        f" {abs(gap):.1f} points {'below' if gap >= 0 else 'above'} the highest accuracy of an encoding,"
        f" {percent(reached[good])} ({titles[good]}); the lowest ({titles[poor]}) is"
        f" {percent_difference(reached[good], reached[poor]):.1f} points below it. {best}"
    )


def describe_best(dataset: str, reached: Mapping[str, float]) -> str:
    """Name the encodings that the test images do not tell apart from the highest."""
    *_, good = find_extremes(reached)
    images = TEST_IMAGES[dataset]
    others = [name for name in reached if name not in ("none", good)]
    family = compare_family(
        [
            judge_difference(
                100 * (reached[good] - reached[name]),
                1e4 * sum(reached[side] * (1 - reached[side]) for side in (good, name)) / images,
                images,
            )
            for name in others
        ]
    )
    level = sum(not verdict.shown for verdict in family)
    tied = (
        f"On {images:,} test images, {level} of the other {len(others)} encodings show no difference from it."
    )
    return f"{tied} One seed each, so other seeds may order them differently."


def describe_lecture(reached: Mapping[str, float]) -> str:
    """Compare the gap of the lecture's two tables on MNIST with the measured one; '' if it is not larger."""
    none, poor, good = find_extremes(reached)
    lecture, gain = percent_difference(LECTURE_GOOD, LECTURE_POOR), percent_difference(reached[good], none)
    if lecture <= gain:
        return ""
    explained = (
        "a table worse than none, as measured here, would explain it."
        if reached[poor] < none
        else "no measured table is worse than none, so its poor table remains unexplained."
    )
    return (
        f"The lecture's two tables reach {percent(LECTURE_POOR, 0)} and {percent(LECTURE_GOOD, 0)} after ten epochs on"
        f" MNIST, {lecture:.0f} points apart; {explained}"
    )


def _describe_measurement(race: StoredRace) -> str:
    config, train = race["config"], race["train"]
    added = [
        f" {CODES[run['positions']]}: measured {run['measured_on']} at commit {run['commit']}."
        for run in race["runs"]
        if "commit" in run
    ]
    return (
        f"Stored experiment, measured {race['measured']} at commit {race['commit']}: seed {train['seed']}, one recipe"
        f" for all {len(race['runs'])} models, width D = {config['embed_dim']}, {config['depth']} layers, patch"
        f" {config['patch_size']} px, {train['epochs']:g} epochs, {race['processor_s']:,.0f} s of processor time in"
        " total."
        f" `{race['command']}`{''.join(added)}"
    )


def _create_table(name: str, race: StoredRace) -> Table:
    runs = race["runs"]
    columns = {
        "positions": [CODES[run["positions"]] for run in runs],
        "test": [run["measured"]["accuracy"] for run in runs],
        "shuffled": [run["measured"]["shuffled"] for run in runs],
        "best validation": [max(accuracy for _, accuracy in run["curve"]) for run in runs],
        "seconds": [run["seconds"] for run in runs],
    }
    shares = dict.fromkeys(("test", "shuffled", "best validation"), percent)
    seconds = {"seconds": st.column_config.NumberColumn(format="%.1f")}
    return Table(columns, shares, f"positions_{name}.csv", seconds)


STUDY = Study(
    "positions",
    "Do positions matter?",
    "How much accuracy do positional encodings add?",
    minutes=4,
    experiments=(hyperparameter.EXPERIMENT,),
    build=build,
    choices=(Choice("positions.dataset", "Dataset", list_races),),
    keys=(GUESS, *hyperparameter.STUDY.keys),
    math=page.read_math(RACE_MATH, __file__),
)
