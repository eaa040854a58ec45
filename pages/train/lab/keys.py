"""What the lab's controls say, and what it keeps beside them: keys of the session, and what outlives a reload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.stores import session

BESIDE = "live_lab._beside"  # ids of the runs whose curves stand beside its
MOMENT = "live_lab._moment"  # {run, step, follow}: where the timeline stands, or None
VIEW = "live_lab._view"  # how the curves are looked at
NOTICE = "live_lab._notice"  # one sentence about what could not be done, shown once
REFUSAL = "live_lab._refusal"  # (run, why a change of it was refused), shown until the next change
# (run, what its learning rate and weight decay were when they were first shown, and what they were last).
STANDING = "live_lab._standing"
SHARED = "live_lab._shared"  # (run, its key for editing) that was made in this session
STOPPING = "live_lab._stopping"  # the run that was told to stop here and may still finish its step
WATCHED = "live_lab._watched"  # whether the last run of the script saw a run under way
GROWING = "live_lab._growing"  # whether the timeline polls only because frames are missing
SLOWNESS = "live_lab._slowness"  # of the polls that the last run of the script began
LOADED = "live_lab._loaded"  # the recipe whose values the controls were last set to
RACE_LOADED = (
    "live_lab._race_loaded"  # the data set whose number of epochs the race's control was last set to
)
SHELF = "live_lab._shelf"  # which leaves of flip-books this session's browser has
BOOK = "live_lab._book"  # a weak reference to the flip-book that this visit saw last


@dataclass(frozen=True)
class Stage(widgets.Chosen, page="live_lab"):
    """What is looked at: a run, by its id, and of an experiment one of its models, by its name, as a race or curves."""

    run: str
    member: str
    look: str
    mistakes: bool


@dataclass(frozen=True)
class Recipe(widgets.Chosen, page="live_lab"):
    """What the form asks for beside its single fields (fields.py): which training, on what, how long."""

    recipe: str
    dataset: str
    unit: str  # 'epochs' or 'seconds'
    length: float
    embedding_learns: bool


@dataclass(frozen=True)
class Family(widgets.Chosen, page="live_lab"):
    """Which kind of model; of a DeiT also who teaches it, by its key, what of the answer, and how much it counts."""

    family: str
    teacher: str
    distillation: str
    distillation_weight: float
    distillation_temperature: float


@dataclass(frozen=True)
class Race(widgets.Chosen, page="live_lab"):
    """Whether one model or an experiment trains, and what the experiment's form says."""

    train: str
    race: str  # a data set
    race_epochs: float
    race_seed: int


@dataclass(frozen=True)
class Several(widgets.Chosen, page="live_lab"):
    """The models of a run of several, as `vitviz.training.lineup` writes them."""

    lineup: str


@dataclass(frozen=True)
class DataRace(widgets.Chosen, page="live_lab"):
    """What the form of 'How much data?' says."""

    data_race: str  # a data set
    race_pictures: int
    race_augmented: bool
    race_draw: int  # the seed, one of the stored grid's


def notice(sentence: str) -> None:
    """Says one sentence on the next run of the page."""
    st.session_state[NOTICE] = sentence


def remembered(key: str, default: Any = None) -> Any:
    """What the session holds under a key, else what the visit noted before a reload."""
    if key not in st.session_state:
        return session.current().notes.get(key, default)
    return st.session_state[key]


def remember(key: str, value: object) -> None:
    """Keeps a value in the session, and in the visit's notes for a reload."""
    st.session_state[key] = value
    session.current().notes[key] = value
