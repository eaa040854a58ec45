"""A reload goes on where the session before it ended: with its controls, and with who chose the model.

A reload is a new session of the same visit whose address is the one that an earlier session wrote last. The visit
notes what its last sessions hold; a link that somebody else wrote has no such note, and begins anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import session_keys
from pages.stores import session

_SESSIONS = (
    "shell.sessions"  # of the visit's notes: a Session by its name, the one that was seen last at the end
)
_MOST = 4  # sessions of a visit: its tabs
_HELD = (
    session_keys.KEPT,
    session_keys.DEFAULTS,
    session_keys.BY_HAND,
    session_keys.FORMER,
    session_keys.WANTED,
    session_keys.CLASS,
    session_keys.LESSON,
)


@dataclass(frozen=True)
class Session:
    """What a session wrote last, and what it holds beside: its own dictionaries, read when a reload copies them."""

    link: Mapping[str, str]
    held: Mapping[str, Any]


def go_on(link: Mapping[str, str]) -> None:
    """In a session's first run: takes over from the session of this visit that wrote this address, if one did."""
    if session_keys.SESSION in st.session_state:
        return
    st.session_state[session_keys.SESSION] = secrets.token_urlsafe(8)
    before = next((one for one in reversed(_sessions().values()) if link and one.link == link), None)
    if before is None:
        return
    for key, value in before.held.items():
        if isinstance(value, dict):  # in place: this run may hold the session's own
            mine = session_keys.held(key)
            mine.clear()
            mine.update(value)
        else:
            st.session_state[key] = value
    st.session_state[session_keys.WRITTEN] = dict(link)


def note() -> None:
    """Notes with the visit what this session has written and holds now."""
    name = st.session_state[session_keys.SESSION]
    held = {key: st.session_state[key] for key in _HELD if key in st.session_state}
    others = {key: one for key, one in _sessions().items() if key != name}
    newest = dict(list(others.items())[1 - _MOST :])
    session.current().notes[_SESSIONS] = newest | {
        name: Session(st.session_state[session_keys.WRITTEN], held)
    }


def _sessions() -> dict[str, Session]:
    noted: Any = session.current().notes.get(_SESSIONS, {})
    found: dict[str, Session] = noted
    return found
