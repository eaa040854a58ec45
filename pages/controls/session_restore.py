"""Restore controls and selection after the browser reloads the page.

A reload creates a new Streamlit session of the same user with the address that an earlier session wrote last. The
user's notes hold the state of the last sessions; a link from somebody else has no such note and starts anew.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import session_keys
from pages.stores import session

_SESSIONS = "shell.sessions"  # key of the user's notes: SavedSession by name, the newest last
_MAX_SESSIONS = 4  # tabs of one user
_SAVED_KEYS = (
    session_keys.CONTROL_VALUES,
    session_keys.DEFAULTS,
    session_keys.MODEL_CHOSEN,
    session_keys.PREVIOUS_MODEL,
    session_keys.REQUESTED,
    session_keys.CLASS,
    session_keys.LESSON,
)


@dataclass(frozen=True)
class SavedSession:
    """The last link of a Streamlit session and references to its dictionaries."""

    link: Mapping[str, str]
    state: Mapping[str, Any]


def restore_session(link: Mapping[str, str]) -> None:
    """In a session's first run, copy the user's earlier session that wrote this address, if any."""
    if session_keys.SESSION in st.session_state:
        return
    st.session_state[session_keys.SESSION] = secrets.token_urlsafe(8)
    saved = next((tab for tab in reversed(_get_saved_sessions().values()) if link and tab.link == link), None)
    if saved is None:
        return
    for key, widget_state in saved.state.items():
        if isinstance(widget_state, dict):  # in place: this run may hold a reference to it
            own_dict = session_keys.get_dict(key)
            own_dict.clear()
            own_dict.update(widget_state)
        else:
            st.session_state[key] = widget_state
    st.session_state[session_keys.WRITTEN] = dict(link)


def save_session() -> None:
    """Save the link and the state of this session in the user's notes."""
    name = st.session_state[session_keys.SESSION]
    values = {key: st.session_state[key] for key in _SAVED_KEYS if key in st.session_state}
    others = {key: saved for key, saved in _get_saved_sessions().items() if key != name}
    newest = dict(list(others.items())[1 - _MAX_SESSIONS :])
    session.get_current().notes[_SESSIONS] = newest | {
        name: SavedSession(st.session_state[session_keys.WRITTEN], values)
    }


def _get_saved_sessions() -> dict[str, SavedSession]:
    notes: Any = session.get_current().notes.get(_SESSIONS, {})
    saved_sessions: dict[str, SavedSession] = notes
    return saved_sessions
