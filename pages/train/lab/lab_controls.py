"""Session keys and URL controls of the live lab."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import widgets
from pages.stores import session

COMPARED = "live_lab._beside"  # ids of the runs compared with the shown one
MOMENT = "live_lab._moment"  # {run, step, follow} selected on the timeline, or None
MODEL_BEFORE = "live_lab._model_before"  # the key of the selected model as the shown run started
VIEW = "live_lab._view"  # axis, smoothing and scales of the curves
EDIT_KEY = "live_lab._shared"  # (run id, edit key) created in this session
FRAMES_PENDING = "live_lab._growing"  # True if the timeline polls only for missing frames
FOLLOWED = "live_lab._followed"  # id of the run whose model the sidebar shows, or cannot show
LINEUP = (
    "live_lab.lineup"  # URL control: the models of a run of several, as `vitviz.training.lineup` encodes them
)
LOADED_RECIPE = "live_lab._loaded"  # recipe that last filled the form
LOADED_RACE = "live_lab._race_loaded"  # dataset whose number of epochs was last put into the form
SHELF = "live_lab._shelf"  # flip-book leaves that this session's browser holds
BOOK = "live_lab._book"  # weak reference to the flip-book shown last


@dataclass(frozen=True)
class StageControls(widgets.ControlValues, page="live_lab"):
    """The shown run's id, an experiment's shown model, its view (race or curves), and the mistakes toggle."""

    run: str
    member: str
    look: str
    mistakes: bool


@dataclass(frozen=True)
class RecipeControls(widgets.ControlValues, page="live_lab"):
    """The form's recipe, dataset and length; single fields are in field_widgets.py."""

    recipe: str
    dataset: str
    unit: str  # 'epochs' or 'seconds'
    length: float
    embedding_learns: bool


@dataclass(frozen=True)
class ModelControls(widgets.ControlValues, page="live_lab"):
    """The model family and, for a DeiT, the key of its teacher; settings of configs are in field_widgets.py."""

    family: str
    teacher: str


@dataclass(frozen=True)
class RaceControls(widgets.ControlValues, page="live_lab"):
    """The training mode, and the settings of the experiment on positions."""

    train: str
    race: str  # a dataset
    race_epochs: float
    race_seed: int


@dataclass(frozen=True)
class DataRaceControls(widgets.ControlValues, page="live_lab"):
    """The settings of the experiment on dataset size."""

    data_race: str  # a dataset
    race_pictures: int
    race_augmented: bool
    race_draw: int  # the seed, one of those of the stored results


def load_note(key: str, default: Any = None) -> Any:
    """Return a value from the session, or from the user session's notes after a reload."""
    if key not in st.session_state:
        return session.get_current().notes.get(key, default)
    return st.session_state[key]


def get_selected_step(run_id: str) -> int | None:
    """Return the selected step, shared by all models of an experiment, or None for the newest."""
    moment = load_note(MOMENT)
    if not moment or moment["follow"] or moment["run"].partition("/")[0] != run_id.partition("/")[0]:
        return None
    return int(moment["step"])


def save_note(key: str, note: object) -> None:
    """Store a value in the session, and in the user session's notes for a reload."""
    st.session_state[key] = note
    session.get_current().notes[key] = note
