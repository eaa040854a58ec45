"""Declare the session keys that are not widget keys; widget keys are `page.control`."""

from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

CONTROL_VALUES = "_kept"  # dict: control key -> last value; survives pages that do not draw the control
INCOMING = "_incoming"  # dict: query parameters that the address changed, until a control takes them
UNUSABLE = "_unusable"  # dict: control key -> link_notice.UnusableValue of this address
OUTGOING = "_outgoing"  # dict: query parameters of this run's selection and controls
WRITTEN = "_written"  # dict: the query parameters that this session wrote last
SUPERSEDED = "_superseded"  # list of (time, dict): recent earlier values of WRITTEN
LIMITS = "_limits"  # dict: control key -> the options or limits that it was last drawn with
SECTIONS = "_sections"  # dict: control key -> the section that it showed last
DEFAULTS = "_defaults"  # dict: control key -> its last default, if it follows a default
SESSION = "_session"  # str: name of this tab among the user's
TAB = "_tab"  # uploads.Tab: the uploads that this tab shows
SIDEBAR = "_sidebar_controls"  # dict: values of the sidebar's controls as the page's view was last drawn
SELECTION = "_selection"  # selection.Selection: the selection of this run
MODELS = "_models"  # (models by key, keys without weights), as this page's run has listed them
PAGE = "_page"  # str: the slug of the page in this run
MODEL_CHOSEN = "_by_hand"  # bool: the user chose the model in the sidebar, by a link or by a button
MOVED_STEPS = (
    "_moved_steps"  # dict: key of a model that is not selected now -> the step that the user moved it to
)
STEP_MODEL = "_step_model"  # str: key of the model to which the control `step` belongs
LANDED = "_landed"  # (slug, key of the model, image): where the model was first shown, and with which image
PREVIOUS_MODEL = (
    "_previous_model"  # model_suggestion.PreviousModel: the selection before the app switched the model
)
DROPPED_STEP = (
    "_dropped_step"  # (key of the model, the step that is shown, the sentence that names the linked one)
)
MISSING_MODEL = "_lost"  # (key of the substitute, the sentence that names the missing model)
MODEL_DIALOG = (
    "_more"  # str: part that the open dialog of models shows first, 'own' or 'published'; '' if closed
)
NOTICE = "_notice"  # str: one sentence about the image (notices.py)
REQUESTED = "_requested"  # dict: values that a page requests of controls already drawn in this run
LINKED_TERMS = "_marked"  # glossary terms that this page has linked, and by which fragment
LESSON = "_lesson"  # (name of the open lesson, stop from 1), or None
BEFORE_LESSON = "_before_lesson"  # dict: query parameters of the selection that the open lesson replaced
LESSON_MISSING = "_lesson_gone"  # str: a link names a missing lesson (notices.py)
CLASS = "_class"  # class membership of this session; missing outside of a class
CLASS_ENDED = "_class_over"  # str: why the class was left (notices.py)
CLICKS_SERVED = "_starts"  # int: served clicks on buttons that start runs
FACTS = "_facts"  # dict: what the page of this run passes to lessons beside its link

_RUN_CACHE = "_vitviz_found"  # (identity of the run, its dictionaries), stored in Streamlit's context


def is_fragment_run() -> bool:
    """Return True if fragments run alone, without the page around them."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def get_dict(name: str) -> dict[str, Any]:
    """Return one of the session's dictionaries above, to be changed in place; looked up once a run.

    Streamlit checks at every look-up if the run should end, and a page with sixty controls makes six hundred.
    """
    dicts = _get_run_dicts()
    if name not in dicts:
        dicts[name] = st.session_state.setdefault(name, {})
    return dicts[name]


def begin_dict(name: str) -> None:
    """Give the run that begins an empty dictionary of its own.

    Streamlit starts a run in another thread while the one before is still ending, with its own dictionary at hand.
    """
    st.session_state[name] = _get_run_dicts()[name] = {}


def _get_run_dicts() -> dict[str, dict[str, Any]]:
    """Return the dictionaries that this run has looked up."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return {}
    run, dicts = context.__dict__.get(_RUN_CACHE, (None, {}))
    if run is not context.cursors:  # Streamlit creates them when a run begins
        dicts = {}
        context.__dict__[_RUN_CACHE] = (context.cursors, dicts)
    looked_up: dict[str, dict[str, Any]] = dicts
    return looked_up


def get_control_values() -> dict[str, Any]:
    """Return the last values of controls and selection by key, to be changed in place."""
    return get_dict(CONTROL_VALUES)
