"""Read query parameters from the address and write the permalink of the current view.

Streamlit drops query parameters that another page's script has bound and omits defaults. The project therefore collects
the values of the selection and all controls, and writes them once at the end of a run.

A reload creates a new Streamlit session of the same user with the address that an earlier session wrote last. The
user's notes hold the state of the last sessions; a link from somebody else has no such note and starts anew.
"""

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx

from pages.controls import link_notice, session_keys
from pages.stores import session

# After a new address, a browser still sends the old one with an event that was on its way.
_STALE_S = 0.7
_MAX_LENGTH = 1024  # no value of this project is longer
_LONG_LENGTH = 128  # longer values are omitted from a long link
_MOST_PENDING, _LONGEST_KEY = 64, 64  # more controls than a page has, and a longer name
_MAX_QUERY_LENGTH = 1800  # with the server's address, a link stays below 2,000 characters
_SESSIONS = "shell.sessions"  # key of the user's notes: SavedSession by name, the newest last
_MAX_SESSIONS = 4  # tabs of one user
_SAVED_KEYS = (
    session_keys.CONTROL_VALUES,
    session_keys.DEFAULTS,
    session_keys.MODEL_CHOSEN,
    session_keys.MOVED_STEPS,
    session_keys.STEP_MODEL,
    session_keys.PREVIOUS_MODEL,
    session_keys.REQUESTED,
    session_keys.CLASS,
    session_keys.LESSON,
    session_keys.BEFORE_LESSON,
)


@contextmanager
def sync_address() -> Iterator[None]:
    """Read the address before a script runs, and write it after the script has ended."""
    _read_address()
    try:
        yield
    except StopException:
        _write_address()
        raise
    else:
        _write_address()
    finally:
        session_keys.get_dict(session_keys.INCOMING).clear()


def _read_address() -> None:
    restore_session(st.query_params.to_dict())
    linked = {key: text for key, text in st.query_params.to_dict().items() if len(text) <= _MAX_LENGTH}
    written = st.session_state.get(session_keys.WRITTEN, {})
    recent = _list_superseded()
    if went_back():  # also for the run that follows if this one is interrupted
        recent = [(at, {} if link == linked else link) for at, link in recent]
    stale = any(linked == link for _, link in recent)
    st.session_state[session_keys.SUPERSEDED] = recent
    session_keys.begin_dict(session_keys.INCOMING)
    session_keys.begin_dict(session_keys.OUTGOING)
    if not stale and linked != written:
        link_notice.clear()
        apply_values(linked)


def _write_address() -> None:
    outgoing = _shorten(session_keys.get_dict(session_keys.OUTGOING))
    # If Back was pressed before a click's address arrived, that address stands under this page's name.
    overtaken = went_back() and st.session_state.get(session_keys.SUPERSEDED)
    # After a page's link to itself the query is new to this session, and the browser shows the address of before.
    is_new = outgoing != st.session_state.get(session_keys.WRITTEN, {})
    if st.query_params.to_dict() != outgoing or overtaken or is_new:
        st.query_params.from_dict(outgoing)
    _remember_link(outgoing)


def write_early(key: str) -> None:
    """Write the address before the page is drawn if this run changes a key that makes it another page to its reader.

    Back that is pressed before the run's end then leads to what stood there, not one page further.
    """
    written = st.session_state.get(session_keys.WRITTEN, {})  # a click in the menu sends no query at all
    if written.get(key, "") != session_keys.get_dict(session_keys.OUTGOING).get(key, ""):
        _write_address()


def went_back() -> bool:
    """Return True if Back or Forward started this run; its address then takes precedence."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def was_dropped(key: str) -> bool:
    """Return True if Back or Forward led to an address without this key, whose control then has its default."""
    return went_back() and key not in st.query_params


def _remember_link(link: dict[str, str]) -> None:
    before = st.session_state.get(session_keys.WRITTEN, {})
    if before != link:
        if not went_back():  # the browser changed the address itself, so no event arrives late
            st.session_state[session_keys.SUPERSEDED] = [
                *st.session_state.get(session_keys.SUPERSEDED, []),
                (time.monotonic(), before),
            ]
        st.session_state[session_keys.WRITTEN] = link
    save_session()


def _shorten(link: Mapping[str, str]) -> dict[str, str]:
    """Return a link without its longest values if it exceeds the length limit."""
    fitting = {key: text for key, text in link.items() if len(text) <= _MAX_LENGTH}
    long = sorted(
        (key for key in fitting if len(fitting[key]) > _LONG_LENGTH), key=lambda key: len(fitting[key])
    )
    while long and len(urlencode(fitting)) > _MAX_QUERY_LENGTH:
        del fitting[long.pop()]
    return fitting


def take_value(key: str) -> str | None:
    """Return a key's requested or newly linked value once, else None."""
    requested: str | None = session_keys.get_dict(session_keys.REQUESTED).pop(key, None)
    linked: str | None = session_keys.get_dict(session_keys.INCOMING).pop(key, None)
    return linked if requested is None else requested


def peek_value(key: str) -> str:
    """Return the value that a text control will have once it is drawn in this run; '' for its default."""
    stored = st.session_state.get(key, session_keys.get_control_values().get(key, ""))
    linked = session_keys.get_dict(session_keys.INCOMING).get(key, stored)
    return str(session_keys.get_dict(session_keys.REQUESTED).get(key, linked))


def request_value(key: str, text: str) -> None:
    """Let the next run read this value as if the address contained it."""
    session_keys.get_dict(session_keys.REQUESTED)[key] = text


def apply_values(values: Mapping[str, str]) -> None:
    """Let this run read these values as if the address had just changed to them.

    A link to another model states its step, also if the number is the same. A link to a model without a pin unpins
    the token.
    """
    written = st.session_state.get(session_keys.WRITTEN, {})
    changed = {key: text for key, text in values.items() if written.get(key) != text}
    if "model" in changed and "step" in values:
        changed["step"] = values["step"]
    session_keys.get_dict(session_keys.INCOMING).update(changed)
    if "model" in values and "pin" not in values:
        session_keys.get_control_values().pop("pin", None)
        session_keys.get_dict(session_keys.INCOMING).pop("pin", None)


def keep_pending(keys: Iterable[str]) -> None:
    """Keep linked values of these keys in the address until a control takes them."""
    requested, incoming = (
        session_keys.get_dict(session_keys.REQUESTED),
        session_keys.get_dict(session_keys.INCOMING),
    )
    for key in keys:
        if key in incoming:
            requested[key] = incoming.pop(key)
        if key in requested:
            set_value(key, requested[key])


def keep_page_pending(page: str) -> None:
    """Keep all linked values of a page's controls in the address until its sections draw them.

    Of a link with names that no control has, no more than a page has controls are kept.
    """
    requested, incoming = (
        session_keys.get_dict(session_keys.REQUESTED),
        session_keys.get_dict(session_keys.INCOMING),
    )
    linked = [key for key in dict.fromkeys((*requested, *incoming)) if key.startswith(f"{page}.")]
    pending = [key for key in linked if len(key) <= _LONGEST_KEY][:_MOST_PENDING]
    for key in set(linked).difference(pending):
        requested.pop(key, None)
        incoming.pop(key, None)
    keep_pending(pending)


def set_value(key: str, text: str) -> None:
    session_keys.get_dict(session_keys.OUTGOING)[key] = text
    if not session_keys.is_fragment_run():
        return
    link = _find_link()  # no end of the script follows a fragment that runs alone
    if link.get(key) != text:
        st.query_params.from_dict(_shorten(link | {key: text}))
        _remember_link(st.query_params.to_dict())


def remove_value(key: str) -> None:
    session_keys.get_dict(session_keys.OUTGOING).pop(key, None)
    if not session_keys.is_fragment_run():
        return
    link = _find_link()
    if link.pop(key, None) is not None:
        st.query_params.from_dict(link)
        _remember_link(link)


def _find_link() -> dict[str, str]:
    """Return the address, or the last one written if the browser had not received it when it sent this change."""
    shown = st.query_params.to_dict()
    is_late = any(link == shown for _, link in _list_superseded())
    return dict(st.session_state.get(session_keys.WRITTEN, shown)) if is_late else shown


def _list_superseded() -> list[tuple[float, dict[str, str]]]:
    """Return when which links were replaced in the last seconds: a browser may still send them."""
    horizon = time.monotonic() - _STALE_S
    return [(at, link) for at, link in st.session_state.get(session_keys.SUPERSEDED, []) if at > horizon]


def get_values() -> dict[str, str]:
    """Return the query parameters that this run has set."""
    return dict(session_keys.get_dict(session_keys.OUTGOING))


def build_query(**changes: str) -> dict[str, str]:
    """Return the selection's query parameters with changes; other keys are a page's controls."""
    outgoing = session_keys.get_dict(session_keys.OUTGOING)
    return {key: text for key, text in outgoing.items() if "." not in key} | changes


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
