"""Say which of a link's values a page cannot use: options that were removed, or that another model lacks."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import notices, session_keys
from vitviz.text import cut, join_words

_MOST_NAMED = 5
_MOST_CHARACTERS = 40  # of a value
_KEY = "shell.link_notice"
_PAGES = {"on_your_picture": "on_picture"}  # the page's name in keys, by slug


@dataclass
class UnusableValue:
    """A value that a link gave a control, and how the control was drawn instead."""

    text: str
    label: str = ""  # of the control, once it is drawn
    shown: Any = None


def add_value(key: str, text: str) -> None:
    """Note that a control cannot use a linked value; `add_label` follows when the control is drawn."""
    session_keys.get_dict(session_keys.UNUSABLE)[key] = UnusableValue(text)


def add_label(key: str, label: str, shown: object) -> None:
    """Add a control's label to its note, or remove the note once the user has changed the control."""
    values = session_keys.get_dict(session_keys.UNUSABLE)
    unusable = values.get(key)
    if unusable is not None and unusable.label and unusable.shown != shown:
        del values[key]
        if session_keys.is_fragment_run():
            st.rerun()  # the notice stands outside the fragment
    elif unusable is not None:
        unusable.label, unusable.shown = label, shown


def _is_known(name: str, controls: str) -> bool:
    """Return True for a control of one of the page's sections, or a question's answer ('ways.asks.0')."""
    return "." in name or name in controls.split()


def clear() -> None:
    """Remove all notes: the address has changed, or the user has dismissed them."""
    session_keys.get_dict(session_keys.UNUSABLE).clear()


def draw(slug: str, controls: str = "") -> None:
    """Draw one sentence with the values that the page's controls could not use or have not read, and a button.

    Parameters without the page's name belong to the selection, to another page or to another site.

    Args:
        slug: the page's address.
        controls: the names of a page with sections; values of others than the drawn section wait for it.
    """
    waiting = session_keys.get_dict(session_keys.REQUESTED)
    unread = session_keys.get_dict(session_keys.INCOMING) | (waiting if controls else {})
    for key, text in unread.items():
        page, is_control, name = key.partition(".")
        if (
            is_control
            and page == _PAGES.get(slug, slug)
            and not (key in waiting and _is_known(name, controls))
        ):
            waiting.pop(key, None)
            session_keys.get_dict(session_keys.OUTGOING).pop(key, None)
            add_value(key, text)
            add_label(key, cut(name.replace("_", " "), _MOST_CHARACTERS), None)
    values: list[UnusableValue] = list(session_keys.get_dict(session_keys.UNUSABLE).values())
    if not values:
        return
    named = [f"{one.label} '{cut(one.text, _MOST_CHARACTERS)}'".lstrip() for one in values[:_MOST_NAMED]]
    if len(values) > _MOST_NAMED:
        named.append(f"{len(values) - _MOST_NAMED} more")
    notices.draw_dismissible(
        f"This link asks for {join_words(named)}, which this page does not have. It shows its own settings instead.",
        _KEY,
        clear,
    )
