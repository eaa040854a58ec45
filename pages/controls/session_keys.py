"""Every session key that is not a widget's own, declared once; widget keys are `page.control`."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

KEPT = "_kept"  # dict: control key -> its last value; survives pages that do not draw the control
INCOMING = (
    "_incoming"  # dict: query parameters of this run that the address changed, until a control takes them
)
OUTGOING = "_outgoing"  # dict: query parameters that this run's nouns and controls stand for
WRITTEN = "_written"  # dict: the query parameters that this session wrote last
SUPERSEDED = "_superseded"  # list of (time, dict): what WRITTEN was before, for a moment
LIMITS = "_limits"  # dict: control key -> the options or limits that it was last drawn with
DEFAULTS = (
    "_defaults"  # dict: control key -> the default that it was last drawn with, where it follows a default
)
SESSION = "_session"  # str: this session's own name among those of its visit
NOUNS = "_nouns"  # nouns.Nouns: what is chosen in this run
MODELS = "_models"  # (this run's own mark, every model by key): looked for once a run
PAGE = "_page"  # str: the slug of the page that this run shows
BY_HAND = "_by_hand"  # bool: the visitor chose the model: in the sidebar, by a link, by a page's button
FORMER = "_former"  # photo.Former: what was shown before the app chose a model for a photo
LOST = "_lost"  # (key of the model that is shown instead, the sentence that says which is gone)
MORE = "_more"  # bool: the form with more models is open
NOTICE = "_notice"  # str: one sentence about the picture, shown once
WANTED = "_wanted"  # dict: what a page asks of nouns and controls that this run has drawn already
MARKED = "_marked"  # which words of the glossary this page has dotted already, and by which of its fragments
LESSON = "_lesson"  # (name of the lesson, stop from 1) that is open; None where none is
LESSON_GONE = "_lesson_gone"  # bool: a link wants a lesson that is not here; said once
CLASS = "_class"  # following.Place: the class that this session is in; not there where it is in none
CLASS_OVER = "_class_over"  # str: the sentence that says why a class was left; said once
STARTS = "_starts"  # int: how many clicks on buttons that start runs were served
FACTS = "_facts"  # dict: what the page of this run hands over to lessons beside its link

_FOUND = "_vitviz_found"  # (the run's own mark, its dictionaries), kept at Streamlit's context


def held(name: str) -> dict[str, Any]:
    """One of the session's dictionaries above, to be changed in place; each is looked up once a run.

    At every look-up Streamlit asks whether the run should end: a page with sixty controls looks up six hundred.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        outside: dict[str, Any] = st.session_state.setdefault(name, {})
        return outside
    mark, found = context.__dict__.get(_FOUND, (None, {}))
    if mark is not context.cursors:  # new ones whenever a run begins
        found = {}
        context.__dict__[_FOUND] = (context.cursors, found)
    if name not in found:
        found[name] = st.session_state.setdefault(name, {})
    kept: dict[str, Any] = found[name]
    return kept


def kept() -> dict[str, Any]:
    """What controls and nouns said last, by key, to be changed in place."""
    return held(KEPT)
