"""Read and draw the stored races of position encodings, with their accuracy on shuffled patches."""

import json
from typing import Any

import numpy as np

from pages.frame import run_start
from pages.stores import catalogue
from pages.studies.study import Values
from vitviz.analysis.one_change import Variant
from vitviz.analysis.race import create_racer
from vitviz.analysis.study_numbers import ALL, Numbers
from vitviz.data.datasets import available_datasets
from vitviz.experiments.result_file import ResultError
from vitviz.lessons.experiment_measures import read_hyperparameter
from vitviz.plots.study_charts import RaceChart
from vitviz.plots.theme import Mode
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
        return read_hyperparameter("positions")
    race = load_race(values["dataset"])
    rows = {run["positions"]: [{**run["measured"], "seconds": run["seconds"]}] for run in race["runs"]}
    accuracy = {name: {ALL: {0: float(row["accuracy"])}} for name, (row,) in rows.items()}
    extra = {"epochs": float(race["train"]["epochs"])}
    extra |= {name: race[name] for name in ("measured", "commit", "command")}
    return Numbers({name: CODES[name] for name in rows}, accuracy, rows, extra=extra)


def chart(values: Values, numbers: Numbers, mode: Mode) -> RaceChart:
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
    return RaceChart(variants, 1 / len(race["classes"]), float(race["train"]["epochs"]), "", racers, known)


def draw_above(values: Values, numbers: Numbers) -> None:
    if values["dataset"] in available_datasets():
        run_start.draw_race_question(values["dataset"])
