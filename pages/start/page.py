"""Start page: the map of the whole model for the selected image, and links to every page."""

from collections.abc import Callable, Hashable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import downloads, query_params
from pages.frame import glossary_terms, page
from pages.lessons import open_lesson
from pages.selection import selection, step_weights
from pages.selection.substitutes import describe_classes
from pages.start import map_messages, map_session
from pages.start.map_session import MapFrame
from pages.stores import lessons, registry, session
from pages.stores.registry import PageEntry
from pages.streamlit_fixes.optional import element_cache
from vitviz.models.abilities import abilities
from vitviz.plots.blob import open_blob, unpack_arrays
from vitviz.text import plain

VIEW, TERMS = "home.map", "home._terms"
PICTOGRAMS = {file.stem for file in (Path(__file__).parents[2] / "static/cards").glob("*.svg")}

GLOSSARY_FORMS = {
    "patches": {"patch": "patch"},
    "stem": {"hybrid": "hybrid"},
    "embed": {"token": "token", "E": "E"},
    "prefix": {"[CLS]": "[CLS]"},
    "positions": {"positions": "position embedding"},
    "block": {
        "layer": "block",
        "attention": "attention",
        "value": "value",
        "MLP": "MLP",
        "stream": "residual stream",
    },
    "merge": {"merging": "patch merging"},
    "norm": {"LN": "LayerNorm"},
    "head": {"head": "classifier head", "logit": "logit"},
}
"""Kind of a part -> words that the map writes -> their glossary terms."""


def draw_lesson_link() -> None:
    stop = (
        None
        if open_lesson.get_open_stop()
        else lessons.find_next_stop(session.get_current(), registry.BY_SLUG)
    )
    if stop is None:
        return
    name, lesson, number = stop
    title = f"'{plain(lesson.title)}'"
    started = any(progress.done for progress in lessons.get_shelf(session.get_current()).progress.values())
    label = f"Next lesson: {title}" if started else f"Start the lesson {title}"
    if number > 1:
        label = f"Continue {title} at stop {number}"
    open_lesson.draw_link(name, lesson, number, label, "signpost")


@page.view
def draw() -> None:
    """Draw the map, its open part and its caption; a drawing or an opened part reruns only this fragment."""
    map_session.apply_pad_events(VIEW)
    choice, current = selection.get_model_choice(), selection.get_current()
    header = MapFrame(VIEW, "home.part", "home.asked", choice, current).draw()
    page.caption(
        "Draw a digit: nothing is predicted for an empty pad."
        if current.image == map_session.DRAWING
        else plain(header["caption"]),
        describe_classes(choice, current.image),
    )
    if len(choice.steps) > 1:
        step_weights.draw(choice, current.step)
    st.session_state[TERMS] = find_terms(header)


def find_terms(header: dict[str, Any]) -> dict[str, str]:
    """Return the glossary terms of a map's parts: the map's word and the glossary's."""
    kinds = dict.fromkeys(part["id"].partition(".")[0] for part in header["parts"])
    words = {form: word for kind in kinds for form, word in GLOSSARY_FORMS.get(kind, {}).items()}
    if "dist" in header["prefix"]:
        words["[DIST]"] = "[DIST]"
    return words


def list_code() -> list[Callable[..., object]]:
    """Return the functions of the model's forward pass."""
    from vitviz.models.cnn import ConvNet
    from vitviz.models.swin import SwinTransformer
    from vitviz.models.vit import VisionTransformer

    able = abilities(selection.get_model_choice().config)
    if able.blocks:
        return [VisionTransformer._embed, VisionTransformer.forward, VisionTransformer.readout]
    return [SwinTransformer.forward if able.windows else ConvNet.forward]


def draw_tables() -> None:
    """Draw download buttons for the token norms and the class probabilities."""
    message = map_messages.load_map(selection.get_model_choice(), selection.get_current())
    header, arrays = open_blob(message)[0], unpack_arrays(message)
    blocks = [part for part in header["parts"] if part["kind"] == "block"]
    rows: dict[str, list[Any]] = {
        name: [] for name in ("layer", "token", "in", "attention adds", "between", "MLP adds")
    }
    for part in blocks:
        lengths = arrays[f"{part['id']}.lengths"]
        rows["layer"] += [part["layer"]] * len(lengths)
        rows["token"] += list(range(1, len(lengths) + 1))
        for name, column in (("in", 0), ("attention adds", 1), ("between", 3), ("MLP adds", 2)):
            rows[name] += lengths[:, column].tolist()
    with st.container(horizontal=True):
        if blocks:
            downloads.csv("Norms of all tokens (CSV)", rows, "map_lengths.csv", "home.csv.lengths")
        if header["classes"]:
            columns = {"class": header["classes"]["names"]} | {
                name: arrays[name].astype(np.float64).tolist() for name in ("logits", "probabilities")
            }
            downloads.csv("Classes (CSV)", columns, "map_classes.csv", "home.csv.classes")
    page.caption("Open a part in the map to download its tables.")


def draw_cards() -> None:
    for group, entries in groupby(registry.PAGES, key=lambda entry: entry.group):
        cards = [entry for entry in entries if entry.slug != "home"]
        if not cards:
            continue
        st.header(group, anchor=False)
        container = st.container(horizontal=True, gap="medium")
        element_cache.draw_cached(
            container,
            _draw_card_group,
            tuple(cards),
            tuple(query_params.build_query().items()),
            private=selection.is_private(),
        )


def _draw_card_group(entries: Sequence[PageEntry], _query: Hashable) -> None:
    """Draw cards whose links carry the current selection; `_query` is the cache key."""
    for entry in entries:
        with st.container(border=True, width=284, height="stretch", key=f"home-card-{entry.slug}"):
            selection.link_to(entry.slug)
            st.html(_render_card(entry))


def _render_card(entry: PageEntry) -> str:
    """Return HTML of a card's picture and question.

    React renders every element of the page again at each stroke, and parses the Markdown of a caption.
    """
    image = f'<img src="app/static/cards/{entry.slug}.svg" alt="" loading="lazy">'
    return f"{image if entry.slug in PICTOGRAMS else ''}<p>{escape(entry.question)}</p>"


st.html(Path(__file__).with_name("page.css"))
with page.header("home", "See what a Vision Transformer computes"):
    draw_lesson_link()
draw()
# Outside of the fragment: they depend on the model, and Markdown with ten links takes a stroke's time.
glossary_terms.write_terms("Terms of this map", st.session_state.pop(TERMS, {}))
map_session.draw_second_map()
page.drawers("home", math=page.read_math(__file__), code=list_code, numbers=draw_tables)
draw_cards()
