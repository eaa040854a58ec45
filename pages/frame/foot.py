"""The foot of every page: the page before, the page after, and where this one stands in the whole model, in small."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path

import streamlit as st

from pages.controls import query_params
from pages.frame import glossary_terms, registry
from pages.frame.registry import PageEntry
from pages.selection import selection
from pages.streamlit_fixes import element_cache
from vitviz.plots.theme import PALETTES
from vitviz.text import listed


def draw(slug: str) -> None:
    """The strip of the model's parts and the ways on, under the page at an address."""
    entry = registry.BY_SLUG.get(slug or "home")
    if entry is None:
        return
    before, after = registry.beside(entry)
    with st.container(key="shell-foot"):
        glossary_terms.write_others(entry.slug)
        if entry.parts:
            st.html(strip(entry.parts))
        ways = st.container(horizontal=True, horizontal_alignment="distribute")
        element_cache.draw(
            ways, _draw_ways, before, after, tuple(query_params.query().items()), own=selection.are_own()
        )


def _draw_ways(before: PageEntry | None, after: PageEntry | None, _query: Hashable) -> None:
    """Links that carry the nouns, as the query says them."""
    for other, label, icon in ((before, "Previous", "arrow_back"), (after, "Next", "arrow_forward")):
        if other is not None:
            selection.link_to(other.slug, f"{label}: {other.title}", icon=f":material/{icon}:")


def strip(parts: tuple[str, ...]) -> str:
    """The parts of a ViT as HTML of our own words alone, this page's marked."""
    cells = "".join(_cell(number, part, part in parts) for number, part in enumerate(registry.PARTS))
    return f'<style>{_style()}</style><div class="vv-way" style="{_colours()}">{said(parts)}<ol>{cells}</ol></div>'


def said(parts: tuple[str, ...]) -> str:
    """Where a page stands in words: 'This page is about patches and E, on the way from picture to classes.'"""
    if len(parts) == len(registry.PARTS):
        return "<p>This page is about all of it, from picture to classes.</p>"
    return f"<p>This page is about {listed(parts)}, on the way from picture to classes.</p>"


def _cell(number: int, part: str, here: bool) -> str:
    marked = ' class="vv-here"' if here else ""
    return f'<li{marked} data-part="{part}"><i class="vv-part-{number}"></i><span>{part}</span></li>'


def _colours() -> str:
    palette = PALETTES[selection.mode()]
    return f"--way-line:{palette.line};--way-muted:{palette.muted};--way-ink:{palette.ink};--way-here:{palette.query}"


@cache
def _style() -> str:
    return Path(__file__).with_name("foot.css").read_text("utf-8")
