"""Five position encodings trained side by side: stored curves, and accuracy with shuffled patches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page, race_question
from pages.selection import selection
from pages.stores import catalogue
from pages.views.race import MATH, draw_race
from vitviz.analysis.race import Racer, create_racer, describe_race
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.lessons import weight_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import race as plots
from vitviz.text import percent
from vitviz.training.races import CODES, RACES

RACE_FILE = "positions_race.json"
ASKS = (
    Question(
        "Which test accuracy does a model without position encoding reach on MNIST?",
        weight_measures.RaceAccuracy("mnist", "none"),
    ),
)
Race = dict[str, Any]  # as written by benchmarks/positions_race.py


@dataclass(frozen=True)
class RaceControls(widgets.ControlValues, page="positions"):
    """The dataset of the race."""

    dataset: str


def draw() -> None:
    """Draw the dataset control, the curves, the caption and the drawers."""
    file = catalogue.CHECKPOINTS / RACE_FILE
    if not file.is_file():
        st.info(
            "No stored race. Run `python benchmarks/positions_race.py` to measure one.",
            icon=":material/timer:",
        )
        return
    races = json.loads(file.read_text("utf-8"))["races"]
    left, right = st.columns([3, 1.4], vertical_alignment="bottom")
    with left:
        name = widgets.segmented(
            RaceControls.key("dataset"),
            "Dataset",
            tuple(dataset for dataset in RACES if dataset in races),
            format_func=lambda key: DATASETS[key].title,
        )
    with right:
        selection.link_to(
            "live_lab", "Train this live", **{"live_lab.train": "experiment", "live_lab.race": name}
        )
    if name in available_datasets():
        race_question.draw(name)
    race = races[name]
    racers = list_racers(race)
    draw_race(plots.payload(racers, 1 / len(race["classes"]), race["train"]["epochs"]), key="positions.race")
    page.caption(describe_race(racers, race["classes"]))
    page.provenance(_describe_measurement(race))
    page.drawers("positions.matter", math=MATH, numbers=partial(_draw_numbers, race), asks=ASKS)


def _describe_measurement(race: Race) -> str:
    config, train = race["config"], race["train"]
    return (
        f"Measured {race['measured']} at commit {race['commit']}, not live: seed {train['seed']}, one recipe for all"
        f" five: width D = {config['embed_dim']}, {config['depth']} layers, patch {config['patch_size']} px,"
        f" {train['epochs']:g} epochs, {race['processor_s']:,.0f} s of processor time in total. `{race['command']}`"
    )


def list_racers(race: Race) -> list[Racer]:
    """Return the models of a stored race."""
    return [
        create_racer(run["positions"], CODES[run["positions"]], np.array(run["curve"]).T, [run["measured"]])
        for run in race["runs"]
    ]


def _draw_numbers(race: Race) -> None:
    runs = race["runs"]
    table = {
        "positions": [CODES[run["positions"]] for run in runs],
        "test": [run["measured"]["accuracy"] for run in runs],
        "shuffled": [run["measured"]["shuffled"] for run in runs],
        "best validation": [max(accuracy for _, accuracy in run["curve"]) for run in runs],
        "seconds": [run["seconds"] for run in runs],
    }
    shares = dict.fromkeys(("test", "shuffled", "best validation"), percent)
    seconds = {"seconds": st.column_config.NumberColumn(format="%.1f")}
    page.table(table, shares, seconds, "positions.race_numbers")
    page.json("The race (JSON)", race, "positions_race.json", "positions.race_json")
