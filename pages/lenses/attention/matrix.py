"""Attention matrix of one head beside its image, with an optional causal mask, and an example with words."""

from functools import partial

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.attention.captions import describe_matrix
from pages.lenses.attention.map_controls import read_background, read_layer_and_head
from pages.selection import selection
from pages.selection.attention_maps import name_head
from pages.selection.subject import CapturedSubject, capture_attention, name_token
from pages.views.register import register
from vitviz.analysis.attention import SENTENCE, FloatArray, causal_attention, fuse_heads, sentence_attention
from vitviz.models.layers import Attention
from vitviz.plots import attention_message as plots
from vitviz.probe.layers import write_call
from vitviz.text import percent

_matrix = register(__file__, "matrix")
KEY = "attention.matrix"


def compute_attention(subject: CapturedSubject, layer: int, head: plots.Head, causal: bool) -> FloatArray:
    """Return the attention (tokens, tokens) of one head, or of all heads fused.

    With the causal mask it is computed again from the scores.
    """
    name = f"blocks.{layer - 1}.scores"
    heads = (
        causal_attention(subject.capture((name,))[name][0])
        if causal
        else capture_attention(subject, layer).attention_of(layer)
    )
    return np.asarray(heads[head - 1] if isinstance(head, int) else fuse_heads(heads, head))


def draw(subject: CapturedSubject) -> None:
    if not subject.able.heads_over_all:
        st.info(subject.able.heads_over_all.why_not, icon=":material/block:")
        draw_sentence(False)
        return
    with page.row():
        layer, head = read_layer_and_head(subject)
        with page.options("attention.matrix"):
            causal = widgets.toggle(
                "attention.causal",
                "Causal mask",
                help="Masks all keys after the query (score −∞), as in text decoders. ViTs have no such mask.",
            )
            background = read_background(subject, maps=False)
    attn = compute_attention(subject, layer, head, causal)
    photo = subject.ground(background.seen)
    pin = str(selection.get_current().pin)
    message = plots.encode_image_matrix(attn, photo, subject.layout, pin, causal=causal)
    _matrix(message, key=KEY, triggers=("pin",), on_change=partial(selection.apply_click, KEY))
    page.caption(describe_matrix(subject, attn, f"Layer {layer}, {name_head(head).lower()}", causal))
    draw_sentence(causal)
    page.drawers(
        "attention.matrix",
        math=page.read_math(__file__),
        code=(Attention.forward, causal_attention),
        call=lambda: write_call(f"blocks.{layer - 1}.{'scores' if causal else 'attn'}"),
        numbers=partial(draw_download, subject, attn),
    )


def draw_sentence(causal: bool) -> None:
    """Draw the attention between the words of the lecture's sentence, marked as an illustration."""
    st.subheader("Attention between words", anchor=False)
    page.markdown(
        ":violet-badge[:material/draw: illustration] Each word is a vector of four numbers set by hand; related words"
        " have similar vectors."
    )
    attn = sentence_attention(causal)
    _matrix(plots.encode_words_matrix(attn, SENTENCE, causal=causal), key="attention.sentence")
    he = attn[SENTENCE.index("he")]
    best = int(he.argmax())
    masked = "; *cute* is masked because it comes later" if causal else ""
    page.caption(
        f"*he* attends most to *{SENTENCE[best]}* ({percent(he[best], 0)}) and *Bark* ({percent(he[0], 0)}){masked}."
        " Attention compares all pairs; softmax scales each row to 1."
    )


def draw_download(subject: CapturedSubject, attn: FloatArray) -> None:
    names = [name_token(subject.layout, token) for token in range(len(attn))]
    columns: dict[str, list[object]] = {"query": list(names)}
    columns |= {name: attn[:, key].tolist() for key, name in enumerate(names)}
    downloads.csv("Matrix, CSV", columns, "attention_matrix.csv", "attention.matrix.csv")
