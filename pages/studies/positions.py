"""Read and draw the stored races of position encodings, with their accuracy on shuffled patches."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from pages.frame import training_runs
from pages.stores import catalogue
from pages.studies.hyperparameter import read_values
from pages.studies.study import Values
from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import create_racer
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.analysis.verdict import compare_family, judge_difference
from vitviz.data.datasets import available_datasets
from vitviz.experiments.hyperparameters import HYPERPARAMETERS
from vitviz.experiments.result_file import TEST_IMAGES, ResultError
from vitviz.plots.study_charts import Race
from vitviz.plots.theme import Mode
from vitviz.text import percent
from vitviz.training.position_race import CODES

RACE_FILE = "positions_race.json"
SEEDS = "seeds"  # the option of the digits over seeds


def load_race(dataset: str) -> dict[str, Any]:
    """Load the stored race of a dataset, as written by benchmarks/positions_race.py.

    Raises:
        ResultError: if there is none.
    """
    try:
        race: dict[str, Any] = json.loads((catalogue.CHECKPOINTS / RACE_FILE).read_text("utf-8"))["races"][
            dataset
        ]
    except (OSError, ValueError, KeyError) as error:
        raise ResultError(f"{RACE_FILE} is missing or damaged: {error}") from error
    return race


def read(values: Values, numbers: None) -> Numbers:
    """Return the accuracy with each encoding: of one race, or over seeds."""
    if values["dataset"] == SEEDS:
        return read_values(HYPERPARAMETERS["positions"])
    race = load_race(values["dataset"])
    rows = {run["positions"]: [{**run["measured"], "seconds": run["seconds"]}] for run in race["runs"]}
    accuracy = {name: {ALL: {0: float(row["accuracy"])}} for name, (row,) in rows.items()}
    encodings = sorted(
        (float(row["accuracy"]), CODES[name]) for name, (row,) in rows.items() if name != "none"
    )
    shuffled = sorted(float(row["shuffled"]) for name, (row,) in rows.items() if name != "none")
    extra = {
        "worst encoding": f"{percent(encodings[0][0])} ({encodings[0][1]})",
        "best encoding": f"{percent(encodings[-1][0])} ({encodings[-1][1]})",
        "lowest shuffled": percent(shuffled[0]),
        "highest shuffled": percent(shuffled[-1]),
        "epochs": float(race["train"]["epochs"]),
    }
    reached = {name: float(row["accuracy"]) for name, (row,) in rows.items()}
    extra["level"] = describe_best(values["dataset"], reached)
    extra |= {name: race[name] for name in ("measured", "commit", "command")}
    return Numbers({name: CODES[name] for name in rows}, accuracy, rows, extra=extra)


def describe_best(dataset: str, reached: Mapping[str, float]) -> str:
    """Name the encodings that the test images do not tell apart from the highest."""
    good = max((name for name in reached if name != "none"), key=reached.__getitem__)
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
    tied = f"On {images:,} test images, {level} of the other {len(others)} encodings show no difference from the best."
    return f"{tied} One seed each, so other seeds may order them differently."


def chart(values: Values, numbers: Numbers, mode: Mode) -> Race:
    """Return the learning curves of a race; that without positions is hidden until the prediction."""
    race = load_race(values["dataset"])
    racers = tuple(
        create_racer(run["positions"], CODES[run["positions"]], np.array(run["curve"]).T, [run["measured"]])
        for run in race["runs"]
    )
    variants = [
        Variant(racer.name, racer.title, racer.curve, {}, (), parameters=0, images=0) for racer in racers
    ]
    known = tuple(racer.name for racer in racers if racer.name != "none")
    return Race(variants, 1 / len(race["classes"]), float(race["train"]["epochs"]), "", racers, known)


def draw_above(values: Values, numbers: Numbers) -> None:
    if values["dataset"] in available_datasets():
        training_runs.draw_race_question(values["dataset"])
