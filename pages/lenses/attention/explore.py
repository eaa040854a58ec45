"""The explorer itself: hover is the query, click pins it; the picture never asks the server for a hover."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import query_params
from pages.frame import page
from pages.lenses.attention import export, predictions
from pages.lenses.attention.export import Shot
from pages.lenses.attention.map_controls import Look, choose
from pages.selection import attention_maps, selection
from pages.selection.subject import Subject
from pages.views.explorer import hand_strip, picked, stage, view_options
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models.layers import Attention
from vitviz.models.swin import WindowAttention

KEY = "attention.explorer"
GROUP = "attention"
DRAWERS = "attention.look"
VIEW, STAGE = "attention.view", f"{KEY}.stage"  # fragments: the whole view, and what a pin changes of it


def on_pick(key: str = KEY) -> None:
    """What a click in the browser changes: pin, layer or head."""
    events = picked(key)
    if "pin" in events:
        selection.set_pin(events["pin"])
    Look.change(**{name: events[name] for name in ("layer", "head") if name in events})


def _on_pick() -> None:
    """A pin runs the stage alone, and the drawers that are open; another layer or head the whole view."""
    events = picked(KEY)
    if "pin" in events:
        selection.set_pin(events["pin"])
    if others := [name for name in ("layer", "head") if name in events]:
        for (
            name
        ) in others:  # a control that is set here would not move in the browser: Streamlit runs this twice
            query_params.want(Look.key(name), str(events[name]))
        st.rerun(VIEW)
    if drawers := page.open_drawers(DRAWERS):
        st.rerun([STAGE, *drawers])


def draw(subject: Subject) -> None:
    """Controls, stage and inspector, caption, prediction."""
    look = choose(subject)
    view_options(GROUP, str(selection.current().pin), look.options)
    data, strip = attention_maps.view_of(subject, look.gaze, subject.ground(look.ground.seen), GROUP)
    place = st.container(gap=None)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        predictions.draw(subject)
    with right:
        st.markdown("**Go on**")
        links = st.container()
    with place:
        hand_strip(strip, key=KEY)
        draw_stage(subject, look, data, links)
    page.drawers(
        DRAWERS,
        math=MATHEMATICS,
        code=(_forward(subject),),
        numbers=lambda: export.draw(
            subject, Shot.now(subject, look)
        ),  # of the pin that is set when it is drawn
        asks=ASKS,
    )


@st.fragment(key=STAGE)
def draw_stage(subject: Subject, look: Look, data: bytes, links: DeltaGenerator) -> None:
    """The explorer with what changes with its pin: the caption, and the links in their place.

    What is sent again for a pin is counted in benchmarks/message_bytes.md.
    """
    stage(data, key=KEY, on_change=_on_pick)
    smoothed = " Smoothed between patches, which have one weight each." if look.ground.smooth else ""
    page.caption(attention_maps.describe(subject, look.gaze, selection.current().pin) + smoothed)
    with links:
        draw_links(look)


def draw_links(look: Look) -> None:
    """Where the same token, layer and head are shown elsewhere."""
    head = {"block.head": look.head} if isinstance(look.head, int) else {}
    inside = {"block.layer": look.layer} | head
    selection.link_to("block", "Follow this token through the block", icon=None, **inside)
    selection.link_to("attention_distance", "How far does every head look?")
    selection.link_to("swin", "How Swin's windows work")


def _forward(subject: Subject) -> Callable[..., object]:
    return WindowAttention.forward if subject.able.windows else Attention.forward


MATHEMATICS = r"""
$$
A^{(l,h)} = \mathrm{softmax}\Bigl(\frac{Q_h K_h^\top}{\sqrt{d}}\Bigr),\qquad \sum_k A_{q,k} = 1
$$

The picture shows one row of this matrix, $A_{q,\cdot}$: how the query $q$ shares itself out over all keys (*looks at*),
or one column, $A_{\cdot,k}$: how much every token takes from this one (*is seen by*). Columns need not sum to 1.
A Swin adds a bias for each offset, and a mask, to the scores before the softmax.
Heads are fused by their mean, maximum or minimum, key by key; only the mean keeps rows that sum to 1.

The mask keeps the fewest patches that hold the chosen share of the patches' mass (Caron et al. 2021). *Looks at about
n tokens* is $2^{H}$ with the row's entropy $H$ in bits. Weights travel in eight bits,
$\mathrm{round}(255\sqrt{a/a_{\max}})$ per row: what is written is exact to $a_{\max}/254$. A layer's attention moves
values between the tokens of that layer; after the first layer, a token is no longer its patch alone.
"""
ASKS = (
    Question(
        "Which patch gets most of the attention of [CLS] in the last layer, on the mean of its heads? Pin it.",
        model_measures.LooksAt(),
    ),
)
