"""Draw source and other text of fixed width."""

from html import escape
from typing import Literal

import streamlit as st


def source(code: str, height: int | Literal["content"] = "content") -> None:
    """Draw Python source without colours: Streamlit's fall short of WCAG AA contrast.

    Args:
        code: long lines are wrapped, because Streamlit's box does not scroll sideways by keyboard.
        height: of a scrolling box in pixels, or the height of the code.
    """
    if height == "content":
        st.code(code, language=None, wrap_lines=True)
    else:
        listing(code, "Source", height)


def listing(text: str, name: str, height: int) -> None:
    """Draw text of fixed width in a box that scrolls by keyboard, unlike Streamlit's.

    Args:
        text: shown verbatim.
        name: label of the box for screen readers.
        height: in pixels.
    """
    box = f'class="vv-listing" tabindex="0" role="region" aria-label="{escape(name)}" style="max-height: {height}px"'
    st.html(f"<pre {box}>{escape(text)}</pre>")
