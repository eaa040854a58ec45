"""Show sentences that stay until the user dismisses them or acts on them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import streamlit as st

from vitviz.classes.database import ClassError
from vitviz.text import plain


def store_notice(key: str, sentence: str) -> None:
    """Show a sentence wherever `draw_notice` draws this session key, from the next time on; '' removes it."""
    if sentence:
        st.session_state[key] = sentence
    else:
        clear_notice(key)


def clear_notice(key: str) -> None:
    """Remove a notice, because the user has dismissed it or acted on it."""
    st.session_state.pop(key, None)


def draw_notice(key: str) -> None:
    """Draw the notice of a key, if there is one, beside the button that dismisses it.

    Which run of the script comes first is unknown after a click or a link, so drawing a notice must not remove it.
    """
    if sentence := st.session_state.get(key):
        draw_dismissible(sentence, key, partial(clear_notice, key))


def draw_dismissible(sentence: str, key: str, dismiss: Callable[[], None]) -> None:
    """Draw a sentence beside the button that calls `dismiss`."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.warning(plain(sentence), icon=":material/info:")
        st.button("Dismiss", key=f"{key}.dismiss", type="tertiary", on_click=dismiss)


@contextmanager
def toast_errors(consequence: str) -> Iterator[None]:
    """Show a toast, '<consequence>: <reason>.', if the body raises ClassError or ValueError."""
    try:
        yield
    except (ClassError, ValueError) as error:
        st.toast(f"{consequence}: {plain(str(error))}.", icon=":material/info:", duration="infinite")
