"""Words of the glossary in a page's own texts: dotted where they first stand, open on hover, focus and tap.

What goes through HTML is ours alone: constants of the pages and the glossary. A caption, which may hold words from
outside, never does. Escape closes (terms.js), which needs no message: the rest is a style sheet.
"""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path

import streamlit as st

from pages.shell import nouns, state
from vitviz import glossary
from vitviz.glossary import Term
from vitviz.plots.theme import PALETTES


def begin() -> None:
    """A page begins: no word has been marked on it."""
    st.session_state[state.MARKED] = set()


def write(text: str) -> None:
    """A constant sentence of a page, one of our own and plain, its new words dotted."""
    _draw(f"<p>{marked(text, st.session_state.setdefault(state.MARKED, set()))}</p>")


def write_others(slug: str) -> None:
    """The words that a page is about and that have not stood on it yet, in a line."""
    seen: set[str] = st.session_state.setdefault(state.MARKED, set())
    words = [term for term in glossary.TERMS if term.page == slug and term.word not in seen]
    if words:
        seen.update(term.word for term in words)
        line = " · ".join(_dotted(term.word, term) for term in words)
        _draw(f'<p class="vv-words">Words of this page: {line}</p>')


def _draw(inside: str) -> None:
    palette = PALETTES[nouns.mode()]
    colours = (
        f"--term-muted:{palette.muted};--term-ink:{palette.ink};--term-panel:{palette.panel};"
        f"--term-line:{palette.line};--term-dots:{palette.query}"
    )
    st.html(f'<style>{_style()}</style><div class="vv-text" style="{colours}">{inside}</div>')


def marked(text: str, seen: set[str]) -> str:
    """A text as HTML in which every term that is not among `seen` is dotted where it first stands."""
    parts, at = [], 0
    for start, end, term in glossary.occurrences(text, seen):
        parts += [escape(text[at:start]), _dotted(text[start:end], term)]
        at = end
    return "".join([*parts, escape(text[at:])])


def _dotted(said: str, term: Term) -> str:
    name = f"vv-word-{term.slug}"
    shape = f" <i>({', '.join(term.shape)})</i>" if term.shape else ""
    return (
        f'<span class="vv-term" tabindex="0" role="note" aria-describedby="{name}">{escape(said)}'
        f'<span class="vv-meaning" role="tooltip" id="{name}"><b>{escape(term.word)}</b>{shape}'
        f" {escape(term.sentence)}</span></span>"
    )


@cache
def _style() -> str:
    return Path(__file__).with_name("terms.css").read_text("utf-8")
