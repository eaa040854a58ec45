"""A few of several options: one control of a link, drawn as a row of pills."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from pages.controls import popover, query_params, session_keys, widgets

_BETWEEN = ","


def pills(
    key: str,
    label: str,
    options: Sequence[str],
    default: Sequence[str],
    *,
    least: int,
    most: int,
    format_func: Callable[[str], str] = str,
) -> tuple[str, ...]:
    """The options that are chosen, in the order of all options: at least and at most so many.

    What a link says of options that are not here is left out; a click too many or too few is taken back.

    Args:
        key: of the control, in the session and in the link; options hold no comma.
        default: what is chosen where nothing says otherwise.
    """
    said = query_params.take(key)
    if said is not None:
        st.session_state[key] = said.split(_BETWEEN)
    elif key not in st.session_state:
        st.session_state[key] = list(session_keys.kept().get(key, default))
    now = _valid(st.session_state[key], options)
    if not least <= len(now) <= most:
        before = _valid(session_keys.kept().get(key, default), options)
        now = before if least <= len(before) <= most else _valid(default, options)
    st.session_state[key] = list(now)
    if not popover.closed():
        st.pills(label, options, selection_mode="multi", default=list(now), key=key, format_func=format_func)
    widgets.keep(key, now)
    return now


def _valid(chosen: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    return tuple(option for option in options if option in chosen)
