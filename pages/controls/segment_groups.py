"""Options in named groups, of which one of all is chosen: one control of a link, drawn as a row of segments a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.controls import widgets


def segmented(key: str, groups: Mapping[str, Sequence[str]], *, format_func: Callable[[str], str]) -> str:
    """The option that is chosen, of any group; the default is the first of the first.

    Args:
        key: of the control, in the session and in the link.
        groups: the label of each row, and its options; no option stands in two.
    """
    widgets.settle_choice(key, [option for options in groups.values() for option in options])
    value: str = st.session_state[key]
    with st.container(horizontal=True, gap="medium", key=f"shell-groups-{key}"):
        for number, (label, options) in enumerate(groups.items()):
            row = f"{key}._{number}"
            st.session_state[row] = value if value in options else None
            with st.container(width="content"):
                st.segmented_control(
                    label, options, key=row, format_func=format_func, on_change=_take, args=(key, row)
                )
    widgets.keep(key, value)
    return value


def _take(key: str, row: str) -> None:
    """What a row says becomes the choice; a click on the option that is chosen takes nothing away."""
    said = st.session_state[row]
    if said is not None:
        widgets.set_value(key, said)
