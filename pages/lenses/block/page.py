"""Lens: one token through one head and one block, with its real numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import file_errors, page
from pages.lenses.block import norms, readout
from pages.lenses.block.block_view import block as draw_block
from pages.selection import selection, subject, substitute
from pages.selection.subject import Subject, token_name
from pages.views.event_values import events_of, pin, whole
from vitviz.analysis.block import steps_of_block
from vitviz.config import ViTConfig
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.layers import Block
from vitviz.probe.block_record import Record, block_form, block_record, patterns_of

VIEW = "block.flow"


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="block"):
    """Which block and head are shown; both count from 1."""

    layer: int
    head: int


def read_controls(config: ViTConfig) -> Choice:
    """Draws the controls, and the way to the attention of the same head."""
    with page.row():
        with st.container(width=168):
            layer = widgets.slider(Choice.key("layer"), "Block", 1, config.depth, 1)
        with st.container(width=168):
            head = widgets.slider(Choice.key("head"), "Head", 1, config.num_heads, 1)
        selection.link_to(
            "attention", "Choose the token", **{"attention.layer": layer, "attention.head": head}
        )
    return Choice(layer, head)


def on_pick() -> None:
    """A click on a key pins it; one on a channel chooses it for the norms."""
    events = events_of(VIEW)
    pinned, channel = pin(events.get("pin")), whole(events.get("channel"))
    if pinned is not None:
        selection.set_pin(pinned)
    if channel is not None:
        norms.Choice.change(channel=channel + 1)


def describe(record: Record, config: ViTConfig, chosen: Choice, token: int, name: str) -> str:
    """How far each branch moves the token, from the norms."""
    x, attention, mlp = (
        float(np.linalg.norm(record[part][token])) for part in ("input", "attn_added", "mlp_added")
    )
    stronger = "attention" if attention > mlp else "the MLP"
    ratio = max(attention, mlp) / max(min(attention, mlp), 1e-12)
    return (
        f"{name[0].upper()}{name[1:]} enters block {chosen.layer} with length {x:.1f}; attention adds a vector of"
        f" length {attention:.1f}, the MLP one of {mlp:.1f}: in this block {stronger} moves it {ratio:.1f} times as"
        f" far. Head {chosen.head} is one of {config.num_heads}, and writes {config.embed_dim // config.num_heads} of"
        f" the {config.embed_dim} values that are {'projected' if config.output_projection else 'added'}."
    )


def draw_way(now: Subject, record: Record, chosen: Choice, token: int) -> None:
    """The token's steps through the block, and what they add to it."""
    vit, name = now.model.vit, token_name(now.layout, token)
    form = block_form(vit, chosen.layer)
    steps = steps_of_block(record, token, chosen.head - 1, form, partial(token_name, now.layout))
    page.say(f"The token is **{name}**; a click on a key in a map takes that one instead.")
    draw_block(
        steps,
        picture=now.prepared.shown,
        layout=now.layout,
        token=token,
        head=chosen.head,
        heads=vit.config.num_heads,
        key=VIEW,
        on_change=on_pick,
    )
    page.caption(describe(record, vit.config, chosen, token, name))


def go_to(layer: int) -> None:
    """Shows another block; in a callback."""
    Choice.change(layer=layer)


@st.fragment
@file_errors.said()
def draw() -> None:
    """Reads the controls, runs the model, and draws the token's way, the answer after the last block, and the norms."""
    able = abilities(selection.choice().config)
    if not able.blocks:
        substitute.offer(able.blocks.why_not, "block.instead")
        return
    config = as_vit(selection.choice().config)
    now = subject.current()
    page.untrained_note(now.model.trained_on)
    chosen = read_controls(config)
    token = selection.current().pin.token(now.layout)
    record = block_record(now.model.vit, now.capture(patterns_of(chosen.layer)), chosen.layer)
    draw_way(now, record, chosen, token)
    if chosen.layer == config.depth:
        readout.draw(now, config, record)
    else:
        last = f"To the last block, {config.depth}: where the class comes from"
        st.button(last, icon=":material/last_page:", key="block.last", on_click=go_to, args=(config.depth,))
    norms.draw(now, config, record, token)
    page.drawers("block", math=MATHEMATICS, code=(Block.forward,), asks=ASKS)


MATHEMATICS = r"""
**Pre-norm** (ViT paper, eq. 2, 3): $z' = \mathrm{MSA}(\mathrm{LN}(z)) + z$, $z = \mathrm{MLP}(\mathrm{LN}(z')) + z'$.
**Post-norm** (Vaswani et al. 2017): $z' = \mathrm{LN}(\mathrm{MSA}(z) + z)$, $z = \mathrm{LN}(\mathrm{MLP}(z') + z')$.

$$
\mathrm{head}_h = \mathrm{softmax}\Bigl(\frac{Q_h K_h^\top}{\sqrt{d}}\Bigr) V_h,\qquad
\mathrm{MSA}(z) = W_o\,[\mathrm{head}_1;\dots;\mathrm{head}_H] + b_o
$$

**Why** $\sqrt d$: if the entries of $q$ and $k$ are independent with variance 1, $q\cdot k$ has variance $d$. Without
the division the softmax gets scores of size $\sqrt d$, puts nearly all weight on one key, and its gradient vanishes.

**The answer** (eq. 4): $y = \mathrm{LN}(z_L^0)$, and the head gives every class a logit, $l = Wy + b$.

**LayerNorm** (Ba et al. 2016) takes mean and variance over a token's channels; **BatchNorm** (Ioffe and Szegedy 2015)
takes them over the batch and all positions, channel by channel.
"""
ASKS = (
    Question(
        "In the last layer, what adds the longer vector to [CLS]: attention or the MLP?",
        model_measures.LongerBranch(),
    ),
)

page.header("Inside one block", "What happens to one token in one block?")
draw()
