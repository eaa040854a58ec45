"""The explorer itself: hover is the query, click pins it; the picture never asks the server for a hover."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.inside.attention import export, predictions
from pages.inside.attention.export import Shot
from pages.inside.attention.look import Look, choose
from pages.shell import looking, nouns, page
from pages.shell.subject import Subject
from pages.views.explorer import explorer, picked, view_options
from vitviz.lessons import of_models
from vitviz.lessons.lesson import Question
from vitviz.models.layers import Attention
from vitviz.models.swin import WindowAttention

KEY = "attention.explorer"
GROUP = "attention"


def on_pick(key: str = KEY) -> None:
    """What a click in the browser changes: pin, layer or head."""
    events = picked(key)
    if "pin" in events:
        nouns.set_pin(str(events["pin"]))
    Look.change(**{name: int(events[name]) for name in ("layer", "head") if name in events})


def draw(subject: Subject) -> None:
    """Controls, stage and inspector, caption, prediction."""
    look, pin = choose(subject), nouns.current().pin
    view_options(GROUP, str(pin), look.options)
    ground = subject.ground(look.ground.seen)
    explorer(*looking.view_of(subject, look.gaze, ground, GROUP), key=KEY, on_change=on_pick)
    smoothed = " Smoothed between patches, which have one weight each." if look.ground.smooth else ""
    page.caption(looking.describe(subject, look.gaze, pin) + smoothed)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        predictions.draw(subject)
    with right:
        draw_links(look)
    page.drawers(
        "attention.look",
        math=MATHEMATICS,
        code=(_forward(subject),),
        numbers=partial(export.draw, subject, Shot.now(subject, look)),
        asks=ASKS,
    )


def draw_links(look: Look) -> None:
    """Where the same token, layer and head are shown elsewhere."""
    st.markdown("**Go on**")
    head = {"block.head": look.head} if isinstance(look.head, int) else {}
    inside = {"block.layer": look.layer} | head
    nouns.link_to("block", "Follow this token through the block", icon=None, **inside)
    nouns.link_to("attention_distance", "How far does every head look?")
    nouns.link_to("swin", "How Swin's windows work")


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
        of_models.LooksAt(),
    ),
)
