"""Start: the whole model on one screen, alive on the chosen picture, and the way to every page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from pages.shell import controls, damaged, link, nouns, page, registry, sidebar
from pages.start import answers, scene
from pages.start.map import draw_map, draw_part, events
from pages.start.words import MATHEMATICS
from pages.stores import cached
from pages.stores.choice import ModelChoice
from vitviz.analysis.asked import Asked
from vitviz.data.datasets import default_pictures
from vitviz.models.abilities import abilities
from vitviz.models.layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots.blob import opened, unpacked
from vitviz.plots.map import Links, Visit, for_visit
from vitviz.plots.map_part import part_view
from vitviz.words import plain

VIEW = "home.map"
CARDS = Path(__file__).parents[2] / "static/cards"


@dataclass(frozen=True)
class Choice(controls.Chosen, page="home"):
    """Which part is open ('': none), and what the view asked of it."""

    part: str
    asked: str


def take_events() -> str:
    """What the visitor did in the map: another token, a part opened or closed; returns the part whose lens is wanted.

    It comes from a browser, so what is no pin, no question and no part is left alone.
    """
    said = events(VIEW)
    if "open" in said:
        asked = Asked.parse(said["open"], nouns.current().pin)
        Choice.change(part="" if asked is None else asked.part, asked="" if asked is None else said["open"])
    pin = Pin.parse(str(said.get("pin", "")))
    if pin is not None and (pin != nouns.current().pin or not nouns.is_pinned()):
        nouns.set_pin(pin)
        st.rerun()  # the pin is a noun: the sidebar and every link on the page follow it
    return str(said.get("go", ""))


@st.fragment
@damaged.said()
def draw() -> None:
    """The map, and what is open in it; an opened part runs this alone."""
    wanted = take_events()
    choice, now = nouns.choice(), nouns.current()
    message = answers.whole(choice, now)
    parts = opened(message)[0]["parts"]
    ways = scene.links([part["id"] for part in parts], choice.config)
    if wanted in ways:
        slug, query = scene.query_of(wanted, choice.config)
        st.switch_page(registry.BY_SLUG[slug].path, query_params=query)
    draw_map(for_visit(message, visit_of(choice, now, message, ways)), key=VIEW)
    asked = asked_for([part["id"] for part in parts if part["opens"]], now.pin)
    # After the map, which so stays as it is while this part is computed.
    inside = None if asked is None else answers.part(choice, now, asked)
    title = next((part["title"] for part in parts if inside is not None and part["id"] == inside.part), "")
    draw_part(part_view(inside, title, ways.get(inside.part) if inside else None), key=f"{VIEW}.part")


def asked_for(ids: Sequence[str], pin: Pin) -> Asked | None:
    """What is open: as the view asked, or as a link says; None for nothing."""
    controls.settle_choice(Choice.key("part"), ("", *ids))
    part = str(st.session_state[Choice.key("part")])
    if not part:
        link.drop(Choice.key("part"))
        return None
    controls.keep(Choice.key("part"), part)
    asked = Asked.parse(st.session_state.get(Choice.key("asked"), ""), pin)
    return asked if asked is not None and asked.part == part else Asked(part, pin)


def visit_of(choice: ModelChoice, now: nouns.Nouns, message: bytes, ways: Links) -> Visit:
    """What the map says to this visitor."""
    header, _ = opened(message)
    layout = TokenLayout(tuple(header["prefix"]), (header["grid"][0], header["grid"][1]), header["patch_px"])
    label = f"{sidebar.describe(now.image)}, as {choice.title} reads it"
    return Visit(now.pin.token(layout), str(now.pin), label, truth_of(now.image, choice), ways)


def truth_of(image: str, choice: ModelChoice) -> int:
    """The picture's class as the model counts them; -1 where nobody says so."""
    kind, _, number = image.partition(":")
    if kind in ("sample", "upload") or choice.trained_on is None:
        return -1
    data = cached.dataset(kind)
    if data.test_labels is None or kind not in (
        choice.trained_on,
        default_pictures(choice.trained_on, choice.preparation.in_chans),
    ):
        return -1
    return int(data.test_labels[int(number)])


def caption(message: bytes) -> None:
    """What the whole way comes to, and whether it is right."""
    header, _ = opened(message)
    page.caption(
        f"{plain(header['caption'])} Press Play to follow one patch; point at a part to see what feeds it; click to"
        " open it."
    )


def code() -> list[Callable[..., object]]:
    """What ran: the model's own forward pass."""
    from vitviz.models.cnn import ConvNet
    from vitviz.models.swin import SwinTransformer
    from vitviz.models.vit import VisionTransformer

    able = abilities(nouns.choice().config)
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
    st.caption("Every opened part has its own numbers: open one in the map, then its tables.")


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
        with st.container(horizontal=True, gap="medium"):
            for entry in shown:
                with st.container(border=True, width=284, key=f"home-card-{entry.slug}"):
                    pictogram = CARDS / f"{entry.slug}.svg"
                    if pictogram.is_file():
                        st.image(str(pictogram), alt="", width="stretch")
                    nouns.link_to(entry.slug)
                    st.caption(entry.question)


page.header("See what a Vision Transformer computes", "How does a picture become a class, part by part?")
draw()
shown = answers.whole(nouns.choice(), nouns.current())
caption(shown)
page.drawers("home", math=MATHEMATICS, code=code, numbers=partial(numbers, shown))
cards()
