"""Draw the foot of every page: its place in the model and links to the neighbouring pages."""

import gzip
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

import streamlit as st

from pages.controls import downloads
from pages.frame import glossary_terms
from pages.selection import model_weights, page_selection, selection
from pages.stores import registry
from pages.stores.registry import PageEntry
from pages.views.register import get_messages
from vitviz.browser.html import render_html
from vitviz.plots.theme import PALETTES, Mode
from vitviz.text import join_words


def draw(slug: str) -> None:
    entry = registry.BY_SLUG.get(slug or "home")
    if entry is None:
        return
    before, after = registry.get_neighbours(entry)
    with st.container(key="shell-foot"):
        glossary_terms.write_remaining_terms(entry.slug)
        if entry.parts:
            st.html(render_strip(entry.parts, selection.get_theme()))
        if get_messages():
            current = selection.get_current()
            describe: Callable[[], str] = str
            if entry.sidebar and not page_selection.find_lab_recording(slug):
                choice = selection.get_model_choice()
                describe = partial(selection.describe, choice, current.step, current.image)
            published = st.session_state.setdefault(model_weights.PUBLISHED, {})  # a view alone may add to it
            make = partial(render_views, entry, get_messages(), describe, published)
            downloads.download(
                "Download page (HTML)", make, f"{entry.slug}.html", f"shell.take_along.{entry.slug}"
            )
        _draw_links(before, after)


def render_views(
    entry: PageEntry,
    messages: Mapping[str, bytes | Callable[[], bytes]],
    describe: Callable[[], str],
    published: Mapping[str, bytes],
) -> str:
    """Return the page's views as one HTML file, which works without a server and a network.

    Args:
        describe: names the model and the image; returns '' for a page without.
        published: weights as gzip by address; the file holds those that a message names.
    """
    made = [message if isinstance(message, bytes) else message() for message in [*messages.values()]]
    weights = {
        address: gzip.decompress(raw)
        for address, raw in [*published.items()]
        if any(address.encode() in message for message in made)
    }
    about = describe()
    return render_html(entry.title, made, f"{entry.question} {about}." if about else entry.question, weights)


@st.fragment(key=selection.LINKS)
def _draw_links(before: PageEntry | None, after: PageEntry | None) -> None:
    """Draw links that carry the selection."""
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        for other, label, icon in ((before, "Previous", "arrow_back"), (after, "Next", "arrow_forward")):
            if other is not None:
                selection.link_to(other.slug, f"{label}: {other.title}", icon=f":material/{icon}:")


@cache
def render_strip(parts: tuple[str, ...], mode: Mode) -> str:
    """Return HTML of a ViT's parts with this page's marked; contains only our own words."""
    marked = ' class="vv-here"'
    cells = "".join(
        f'<li{marked * (part in parts)} data-part="{part}"><i class="vv-part-{number}"></i><span>{part}</span></li>'
        for number, part in enumerate(registry.PARTS)
    )
    palette = PALETTES[mode]
    names = {"line": palette.line, "muted": palette.muted, "ink": palette.ink, "here": palette.primary}
    colours = ";".join(f"--way-{name}:{colour}" for name, colour in names.items())
    body = f'<div class="vv-way" style="{colours}">{describe_parts(parts)}<ol>{cells}</ol></div>'
    return f"<style>{_read_style()}</style>{body}"


def describe_parts(parts: tuple[str, ...]) -> str:
    """Return a sentence such as 'Parts of the model on this page: patches and E'."""
    listed = "all" if len(parts) == len(registry.PARTS) else join_words(parts)
    return f"<p>Parts of the model on this page: {listed}.</p>"


@cache
def _read_style() -> str:
    return Path(__file__).with_name("foot.css").read_text("utf-8")
