"""What a page's controls say, as one frozen value; see controls.py."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import streamlit as st

from pages.controls import session_keys


class Chosen:
    """What a page's controls say in one run: a frozen dataclass, whose field 'layer' is the control 'block.layer'.

    The controls read the link and write it, each under the key of its field; a section of a page may have its own.
    """

    _page: ClassVar[str]

    def __init_subclass__(cls, page: str) -> None:
        cls._page = page

    @classmethod
    def key(cls, name: str) -> str:
        """The key of a control, in the session and in the link.

        Raises:
            KeyError: if the page has no such control.
        """
        if not is_dataclass(cls) or name not in {field.name for field in fields(cls)}:
            raise KeyError(f"{cls._page} has no control {name!r}")
        return f"{cls._page}.{name}"

    @classmethod
    def keys(cls) -> list[str]:
        """The keys of all its controls."""
        return [cls.key(field.name) for field in fields(cls)] if is_dataclass(cls) else []

    @classmethod
    def change(cls, **values: object) -> None:
        """Sets controls from outside: before they are drawn in this run, or in a callback."""
        for name, value in values.items():
            set_value(cls.key(name), value)


def set_value(key: str, value: Any) -> None:
    """Sets a control from outside: before it is drawn in this run, or in a callback."""
    st.session_state[key] = value
    session_keys.kept()[key] = value
