"""The anatomy that every page shares: question on top, caption under the picture, closed drawers at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import streamlit as st

Drawer = str | Callable[[], None]


def header(title: str, question: str) -> None:
    """The page's title and the one question that its picture answers."""
    st.title(title, anchor=False)
    st.markdown(f":gray[{question}]")


def caption(text: str) -> None:
    """One or two sentences computed from the picture's own numbers."""
    st.caption(text)


def shapes(**terms: tuple[int, ...]) -> None:
    """Shapes beside a picture, each as a small tag: `shapes(q=(1, 3, 65, 32))`."""
    st.markdown(" ".join(f"`{name} ({', '.join(map(str, shape))})`" for name, shape in terms.items()))


def source(code: str, height: int | Literal["content"] = "content") -> None:
    """Python source, plain: Streamlit's fixed colours for code fall short of WCAG AA on every light ground.

    Args:
        code: of any length.
        height: in pixels of a narrow box, whose lines are wrapped; else as high and wide as the code.
    """
    st.code(code, language=None, wrap_lines=height != "content", height=height)


def untrained_note(trained_on: str | None) -> None:
    """Says that a picture shows random weights, where it does."""
    if trained_on is None:
        st.markdown(":orange-badge[:material/casino: random weights] This model has not been trained.")


def drawers(
    *,
    math: Drawer | None = None,
    code: Drawer | None = None,
    numbers: Drawer | None = None,
    try_this: Drawer | None = None,
) -> None:
    """The closed drawers, in their fixed order; each is text (code: Python source) or a function that draws."""
    named: Mapping[str, tuple[str, Drawer | None]] = {
        "The mathematics": ("function", math),
        "The code that ran": ("code", code),
        "The numbers": ("table", numbers),
        "Try this": ("experiment", try_this),
    }
    for title, (icon, content) in named.items():
        if content is None:
            continue
        with st.expander(title, icon=f":material/{icon}:"):
            if callable(content):
                content()
            elif title == "The code that ran":
                source(content)
            else:
                st.markdown(content)
