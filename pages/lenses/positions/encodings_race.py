"""Do positions matter? Five position codes trained side by side: measured curves, and shuffled patches."""

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
from pages.views.race import MATH
from pages.views.race import race as race_view
from vitviz.analysis.race import Racer, describe, racer
from vitviz.data.datasets import DATASETS, available_datasets
from vitviz.lessons import weight_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import race as plots
from vitviz.text import percent
from vitviz.training.races import CODES, RACES

MEASURED = "positions_race.json"
ASKS = (
    Question(
        "Trained on MNIST with no positions at all: which share of the test pictures is right?",
        weight_measures.RaceAccuracy("mnist", "none"),
    ),
)
Race = dict[str, Any]  # as benchmarks/positions_race.py wrote it


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="positions"):
    """The data set of the race."""

    dataset: str


def draw() -> None:
    """The whole view: data set, curves, shuffled patches, caption, drawers."""
    file = catalogue.CHECKPOINTS / MEASURED
    if not file.is_file():
        st.info(
            "No measured race lies here. `python benchmarks/positions_race.py` makes one.",
            icon=":material/timer:",
        )
        return
    stored = json.loads(file.read_text("utf-8"))
    races = stored["races"]
    chosen, live = st.columns([3, 1.4], vertical_alignment="bottom")
    with chosen:
        name = widgets.segmented(
            Choice.key("dataset"),
            "Data set",
            tuple(d for d in RACES if d in races),
            format_func=lambda key: DATASETS[key].title,
        )
    with live:
        selection.link_to(
            "live_lab", "Train this live", **{"live_lab.train": "experiment", "live_lab.race": name}
        )
    if name in available_datasets():
        race_question.draw(name)
    race = races[name]
    racers = racers_of(race)
    race_view(plots.payload(racers, 1 / len(race["classes"]), race["train"]["epochs"]), key="positions.race")
    page.caption(describe(racers, race["classes"]))
    page.say(f":gray[{_how(race)}]")
    page.drawers("positions.matter", math=MATH, numbers=partial(_numbers, race), asks=ASKS)


def _how(race: Race) -> str:
    """How the race was measured: its recipe, what it took, and the command that repeats it."""
    config, train = race["config"], race["train"]
    return (
        f"Measured {race['measured']} at commit {race['commit']}, not live: one seed ({train['seed']}), the same recipe"
        f" for all five: width D = {config['embed_dim']}, {config['depth']} layers, patch {config['patch_size']} px,"
        f" {train['epochs']:g} epochs; {race['processor_s']:,.0f} s of processor time together. `{race['command']}`"
    )


def racers_of(race: Race) -> list[Racer]:
    """A stored race's models."""
    return [
        racer(run["positions"], CODES[run["positions"]], np.array(run["curve"]).T, [run["measured"]])
        for run in race["runs"]
    ]


def _numbers(race: Race) -> None:
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
