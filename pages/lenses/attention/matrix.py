"""The matrix of one head: rows are queries, columns keys; beside it what a causal mask would leave."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention.map_controls import choose_ground, layer_and_head
from pages.selection import selection
from pages.selection.attention_maps import head_name
from pages.selection.subject import Subject, token_name
from pages.views.event_values import events_of, pin
from pages.views.register import register
from vitviz.analysis.attention import FloatArray, fuse_heads
from vitviz.analysis.causal import SENTENCE, causal_attention, sentence_attention
from vitviz.models.layers import Attention
from vitviz.plots import matrix as plots
from vitviz.plots.attention import Head
from vitviz.text import percent

_matrix = register(__file__, "matrix")
KEY = "attention.matrix"


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="attention"):
    """Whether keys after the query are masked, as in a decoder of text."""

    causal: bool


def attention_of(subject: Subject, layer: int, head: Head, causal: bool) -> FloatArray:
    """(tokens, tokens): one head's attention, or all fused; with the mask it is made anew from the scores."""
    heads = subject.attn[layer - 1]
    if causal:
        name = f"blocks.{layer - 1}.scores"
        heads = causal_attention(subject.capture((name,))[name][0])
    return np.asarray(heads[head - 1] if isinstance(head, int) else fuse_heads(heads, head))


def on_pin() -> None:
    """A click on a row, or on the picture, pins its token."""
    pinned = pin(events_of(KEY).get("pin"))
    if pinned is not None:
        selection.set_pin(pinned)


def draw(subject: Subject) -> None:
    """Controls, the matrix beside its picture, and the same idea between words."""
    if not subject.able.heads_over_all:
        st.info(subject.able.heads_over_all.why_not, icon=":material/block:")
        draw_sentence(False)
        return
    with page.row():
        layer, head = layer_and_head(subject)
        with st.container(width="content"):
            causal = widgets.toggle(
                Choice.key("causal"),
                "Causal mask",
                help="A decoder of text may not see the words to come: every key after the query gets the score −∞"
                " before the softmax. A ViT has no such mask; here its own scores are masked, nothing is retrained.",
            )
        with page.options("attention.matrix"):
            ground = choose_ground(subject, maps=False)
    attn = attention_of(subject, layer, head, causal)
    photo = subject.ground(ground.seen)
    pin = str(selection.current().pin)
    data = plots.of_picture(attn, photo, subject.layout, pin, causal=causal)
    _matrix(data, key=KEY, triggers=("pin",), on_change=on_pin)
    page.caption(describe(subject, attn, f"Layer {layer}, {head_name(head).lower()}", causal))
    draw_sentence(causal)
    page.drawers(
        "attention.matrix",
        math=MATHEMATICS,
        code=(Attention.forward, causal_attention),
        numbers=partial(keep, subject, attn),
    )


def describe(subject: Subject, attn: FloatArray, where: str, causal: bool) -> str:
    """Size, row sums, the strongest pair and what lies on the diagonal, from the matrix."""
    count, layout = len(attn), subject.layout
    sums = attn.sum(axis=1)
    query, key = np.unravel_index(int(attn.argmax()), attn.shape)
    even = abs(sums - 1).max() < 1e-3
    said = "every row sums to 1" if even else f"rows sum to {sums.min():.2f} to {sums.max():.2f}"
    text = (
        f"{where}: {count} × {count} weights; {said}, columns to {attn.sum(axis=0).min():.2f} to"
        f" {attn.sum(axis=0).max():.2f}. On the diagonal, each token on itself, lie"
        f" {percent(float(np.trace(attn) / sums.sum()))} of all looks."
    )
    if not causal:
        names = token_name(layout, int(query)), token_name(layout, int(key))
        return f"{text} The strongest weight is {attn[query, key]:.3f}, from {names[0]} to {names[1]}."
    masked = count * (count - 1) // 2
    return (
        f"{text} The mask takes {masked:,} of {count * count:,} pairs: {token_name(layout, 0)}, the first, sees"
        f" itself alone with {attn[0, 0]:.2f}, and only the last token sees all {count}."
    )


def draw_sentence(causal: bool) -> None:
    """The lecture's sentence: the same picture between words, marked as made by hand."""
    st.subheader("The same idea between words", anchor=False)
    page.say(
        ":violet-badge[:material/draw: illustration] Each word has four numbers set by hand, so that what belongs"
        " together is alike; no model has computed them."
    )
    attn = sentence_attention(causal)
    _matrix(plots.of_words(attn, SENTENCE, causal=causal), key="attention.sentence")
    he = attn[SENTENCE.index("he")]
    best = int(he.argmax())
    unseen = ", and cannot see *cute*, which comes later" if causal else ""
    page.caption(
        f"*he* looks most at *{SENTENCE[best]}* ({percent(he[best], 0)}), then at *Bark*"
        f" ({percent(he[0], 0)}){unseen}: attention is a table of how alike things are, each row shared out to 1."
    )


def keep(subject: Subject, attn: FloatArray) -> None:
    """The matrix as a file."""
    names = [token_name(subject.layout, token) for token in range(len(attn))]
    columns: dict[str, list[object]] = {"query": list(names)}
    columns |= {f"{key}: {name}": attn[:, key].tolist() for key, name in enumerate(names)}
    page.csv("Matrix, CSV", columns, "attention_matrix.csv", "attention.matrix.csv")


MATHEMATICS = r"""
$$
A = \mathrm{softmax}\Bigl(\frac{Q K^\top}{\sqrt d} + M\Bigr),\qquad
M_{qk} = \begin{cases} 0 & k \le q \\ -\infty & k > q\end{cases}
$$

Row $q$ is the query, column $k$ the key; the softmax runs along a row. $M = 0$ in a ViT: a picture has no order in
which it is read, so every patch may see every other. A decoder of text has the mask (Vaswani et al. 2017), or it would
read the answer. Masking *after* the softmax would leave rows that sum to less than 1.
"""
