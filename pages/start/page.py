"""Start: the whole model on one screen, alive on the chosen picture, and the way to every page."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import query_params, widgets
from pages.frame import file_errors, glossary_terms, page, registry
from pages.frame.registry import PageEntry
from pages.lessons import open_lesson
from pages.selection import selection
from pages.start import map_answers, second_map
from pages.start.drawers import MATHEMATICS, OF_PARTS
from pages.start.map_session import OneMap
from pages.stores import lessons, session
from pages.streamlit_fixes import element_cache
from vitviz.models.abilities import abilities
from vitviz.plots.blob import opened, unpacked
from vitviz.text import plain

VIEW = "home.map"
PICTOGRAMS = {file.stem for file in (Path(__file__).parents[2] / "static/cards").glob("*.svg")}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="home"):
    """Which part is open ('': none), and what the view asked of it."""

    part: str
    asked: str


def way_in() -> None:
    """The first lesson, or the one that this visit has left; nothing beside a lesson that is open."""
    way = None if open_lesson.current() else lessons.next_stop(session.current(), registry.BY_SLUG)
    if way is None:
        return
    name, found, stop = way
    title = f"'{plain(found.title)}'"
    walked = any(one.done for one in lessons.shelf(session.current()).progress.values())
    begin = f"Walk on: {title}" if walked else f"New here? Walk {title}"
    label = f"Go on with {title}, stop {stop}" if stop > 1 else begin
    open_lesson.link_to(name, found, stop, label, "signpost")


@st.fragment
@file_errors.said()
def draw() -> None:
    """The map, and what is open in it; an opened part runs this alone."""
    OneMap(VIEW, Choice.key("part"), Choice.key("asked"), selection.choice(), selection.current()).draw()


def caption(message: bytes) -> None:
    """The words that the map writes, explained where one points at them; what the whole way comes to."""
    header, _ = opened(message)
    kinds = dict.fromkeys(part["id"].partition(".")[0] for part in header["parts"])
    words = {form: word for kind in kinds for form, word in OF_PARTS.get(kind, {}).items()}
    if "dist" in header["prefix"]:
        words["[DIST]"] = "[DIST]"
    glossary_terms.write_line("The words of this map", words)
    page.caption(
        f"{plain(header['caption'])} Press Play to follow one patch; point at a part to see what feeds it; click to"
        " open it."
    )


def code() -> list[Callable[..., object]]:
    """What ran: the model's own forward pass."""
    from vitviz.models.cnn import ConvNet
    from vitviz.models.swin import SwinTransformer
    from vitviz.models.vit import VisionTransformer

    able = abilities(selection.choice().config)
    if able.blocks:
        return [VisionTransformer._embed, VisionTransformer.forward, VisionTransformer.readout]
    return [SwinTransformer.forward if able.windows else ConvNet.forward]


def numbers(message: bytes) -> None:
    """The lengths of every token and the classes, to take away."""
    header, arrays = opened(message)[0], unpacked(message)
    blocks = [part for part in header["parts"] if part["kind"] == "block"]
    rows: dict[str, list[Any]] = {
        name: [] for name in ("layer", "token", "in", "attention adds", "between", "MLP adds")
    }
    for part in blocks:
        lengths = arrays[f"{part['id']}.lengths"]
        rows["layer"] += [part["layer"]] * len(lengths)
        rows["token"] += list(range(len(lengths)))
        for name, column in (("in", 0), ("attention adds", 1), ("between", 3), ("MLP adds", 2)):
            rows[name] += lengths[:, column].tolist()
    with st.container(horizontal=True):
        if blocks:
            page.csv("Lengths of all tokens (CSV)", rows, "map_lengths.csv", "home.csv.lengths")
        if header["classes"]:
            columns = {"class": header["classes"]["names"]} | {
                name: arrays[name].astype(np.float64).tolist() for name in ("logits", "probabilities")
            }
            page.csv("Classes (CSV)", columns, "map_classes.csv", "home.csv.classes")
    page.caption("Every opened part has its own numbers: open one in the map, then its tables.")


def cards() -> None:
    """The way to every page, group by group."""
    # On a phone one card fills the line.
    st.html(
        "<style>@media (max-width: 640px) {"
        " :has(> [class*='st-key-home-card-']) { flex-basis: 100% !important; }"
        " [class*='st-key-home-card-'] { width: 100% !important; } }</style>"
    )
    for group, entries in groupby(registry.PAGES, key=lambda entry: entry.group):
        shown = [entry for entry in entries if entry.slug != "home"]
        if not shown:
            continue
        st.header(group, anchor=False)
        place = st.container(horizontal=True, gap="medium")
        element_cache.draw(
            place, _draw_cards, tuple(shown), tuple(query_params.query().items()), own=selection.are_own()
        )


def _draw_cards(entries: Sequence[PageEntry], _query: Hashable) -> None:
    """Cards whose links carry the nouns, as the query says them."""
    for entry in entries:
        with st.container(border=True, width=284, height="stretch", key=f"home-card-{entry.slug}"):
            if entry.slug in PICTOGRAMS:
                st.image(f"/app/static/cards/{entry.slug}.svg", alt="", width="stretch")
            selection.link_to(entry.slug)
            st.caption(entry.question)


with st.container(
    horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute", gap="small"
):
    with st.container(width="content"):
        page.header(
            "See what a Vision Transformer computes", "How does a picture become a class, part by part?"
        )
    way_in()
draw()
shown = map_answers.whole(selection.choice(), selection.current())
caption(shown)
second_map.draw()
page.drawers("home", math=MATHEMATICS, code=code, numbers=partial(numbers, shown))
cards()
