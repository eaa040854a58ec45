"""The link: the address says what is shown, in full, and opening it shows the same picture.

Streamlit drops query parameters that another page's script has bound and omits defaults, so the project writes them
itself: what every noun and control of a run stands for is collected, and written once when the run ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import StopException, get_script_run_ctx

from pages.controls import session_keys, session_restore

# A browser that is told a new address still sends the old one with an event that was under way.
_STALE_S = 0.7
_LONGEST = 1024  # a longer value is nothing that this project has written
_LONG = 128  # a longer value has its place where the link has room for it
_ROOM = 1800  # of the query: with the server's own address a link stays below 2,000 characters


@contextmanager
def kept() -> Iterator[None]:
    """Reads the address before a script runs, and writes it when the script has run to its end."""
    _read()
    try:
        yield
    except StopException:
        _write()
        raise
    else:
        _write()
    finally:
        session_keys.held(session_keys.INCOMING).clear()


def _read() -> None:
    session_restore.go_on(st.query_params.to_dict())
    seen = {key: value for key, value in st.query_params.to_dict().items() if len(value) <= _LONGEST}
    written = st.session_state.get(session_keys.WRITTEN, {})
    horizon = time.monotonic() - _STALE_S
    recent = [(at, link) for at, link in st.session_state.get(session_keys.SUPERSEDED, []) if at > horizon]
    stale = not _went_back() and any(seen == link for _, link in recent)
    st.session_state[session_keys.SUPERSEDED] = recent
    incoming = session_keys.held(session_keys.INCOMING)
    incoming.clear()
    if not stale:
        incoming.update({key: value for key, value in seen.items() if written.get(key) != value})
    session_keys.held(session_keys.OUTGOING).clear()


def _write() -> None:
    outgoing = _with_room(session_keys.held(session_keys.OUTGOING))
    # Back may have been pressed before a click's address came: that one then stands under the name of this page.
    overtaken = _went_back() and st.session_state.get(session_keys.SUPERSEDED)
    if st.query_params.to_dict() != outgoing or overtaken:
        st.query_params.from_dict(outgoing)
    _remember(outgoing)


def _went_back() -> bool:
    """Whether this run was asked for by Back or Forward: its address is what the visitor wants, however new another."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _remember(link: dict[str, str]) -> None:
    before = st.session_state.get(session_keys.WRITTEN, {})
    if before != link:
        if not _went_back():  # the browser itself has gone to this address: no event of its own comes late
            st.session_state[session_keys.SUPERSEDED] = [
                *st.session_state.get(session_keys.SUPERSEDED, []),
                (time.monotonic(), before),
            ]
        st.session_state[session_keys.WRITTEN] = link
    session_restore.note()


def _with_room(link: Mapping[str, str]) -> dict[str, str]:
    """A link without its longest values where it would be too long with them."""
    fitting = {key: value for key, value in link.items() if len(value) <= _LONGEST}
    long = sorted((key for key in fitting if len(fitting[key]) > _LONG), key=lambda key: len(fitting[key]))
    while long and len(urlencode(fitting)) > _ROOM:
        del fitting[long.pop()]
    return fitting


def take(key: str) -> str | None:
    """What a page asked for, or the address newly says about a key; once, then it is the session's own."""
    asked: str | None = session_keys.held(session_keys.WANTED).pop(key, None)
    said: str | None = session_keys.held(session_keys.INCOMING).pop(key, None)
    return said if asked is None else asked


def want(key: str, value: str) -> None:
    """Lets the next run read this value of a key, as if the address said it: for what is chosen after it was drawn."""
    session_keys.held(session_keys.WANTED)[key] = value


def say(values: Mapping[str, str]) -> None:
    """Lets this run read these values as if the address newly said them, where they are not what it says already."""
    written = st.session_state.get(session_keys.WRITTEN, {})
    changed = {key: value for key, value in values.items() if written.get(key) != value}
    session_keys.held(session_keys.INCOMING).update(changed)


def hold(keys: Iterable[str]) -> None:
    """Lets what the address says about these keys stay in it, and wait for the run in which a control takes it."""
    wanted, incoming = session_keys.held(session_keys.WANTED), session_keys.held(session_keys.INCOMING)
    for key in keys:
        if key in incoming:
            wanted[key] = incoming.pop(key)
        if key in wanted:
            put(key, wanted[key])


def put(key: str, value: str) -> None:
    """States what a key's value is in the link of this run."""
    session_keys.held(session_keys.OUTGOING)[key] = value
    context = get_script_run_ctx()
    # A fragment that runs alone has no end of script after it.
    if context is not None and context.fragment_ids_this_run and st.query_params.get(key) != value:
        link = _with_room(st.query_params.to_dict() | {key: value})
        st.query_params.from_dict(link)
        _remember(link)


def drop(key: str) -> None:
    """Takes a key out of the link."""
    session_keys.held(session_keys.OUTGOING).pop(key, None)
    context = get_script_run_ctx()
    if context is not None and context.fragment_ids_this_run and key in st.query_params:
        del st.query_params[key]
        _remember(st.query_params.to_dict())


def written() -> dict[str, str]:
    """What the nouns and controls that this run has drawn stand for."""
    return dict(session_keys.held(session_keys.OUTGOING))


def query(**changes: str) -> dict[str, str]:
    """The three nouns and the pin as query parameters, with changes; further keys are a page's controls."""
    nouns = session_keys.held(session_keys.OUTGOING)
    return {key: value for key, value in nouns.items() if "." not in key} | changes
