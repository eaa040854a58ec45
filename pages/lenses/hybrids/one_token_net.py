"""The lecture's flat net, whose 97 % are no attention: one token, so every weight of attention is 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import papers
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from vitviz.models.lecture_nets import FlatAttention, FlatAttentionLayer
from vitviz.models.presets import GREY_28, PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.one_token import LARGER, OneToken, one_token
from vitviz.text import percent, signed

PRESET = "recipe_e"
SAID_BY_LECTURE = 97.04  # percent on MNIST's test pictures, as the lecture prints it
GUESSES = {"0": "0", "0.5": "0.5", "1": "1", "picture": "That depends on the picture"}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="hybrids"):
    """What the weight is guessed to be: one of `GUESSES`."""

    weight: str


def draw() -> None:
    """What the net computes of the picture, and what is left of its attention."""
    now = selection.current()
    found = _computed(now.image, now.offset)
    prepared = selection.prepared(GREY_28)
    answered = prediction_gate.first(
        Choice.key("weight"),
        PRESET,
        "The whole picture is one token. With which weight does it attend to itself?",
        GUESSES,
        lambda guess: judged(float(found.attention.min()), float(found.attention.max()), guess),
    )
    left, right = st.columns([1, 3], gap="medium", vertical_alignment="center")
    with left:
        shown = np.asarray(prepared.shown)
        words = f"One token: all {shown.shape[0] * shown.shape[1]} pixels at once"
        st.image(shown, width=180, caption=words, alt=f"The picture that the net reads. {words}")
    with right:
        first, second = st.columns(2)
        for number, column in enumerate((first, second)):
            weight = f"{float(found.attention[number].max()):.6f}"
            with column:
                st.metric(f"A of layer {number + 1}", weight if answered else "?", border=True)
                page.shapes(A=found.attention[number].shape)
        scores = " and ".join(signed(float(score), 4) for score in found.scores)
        one = (
            f"; of a single score a softmax ({papers.VASWANI}) makes 1, whatever it is." if answered else "."
        )
        page.say(f"The scores before the softmax are {scores}{one}")
    page.caption(
        describe(found) if answered else "A guess shows the weights, and what is left of the attention."
    )
    page.drawers("hybrids.flat", math=MATHEMATICS, code=(FlatAttention, FlatAttentionLayer, one_token))


@cached.per_picture(shared=16, upload=2)
def _computed(image: str, offset: cached.Offset) -> OneToken:
    model = create_model(PRESETS[PRESET].config, seed=0).eval().requires_grad_(False)
    assert isinstance(model, FlatAttention)
    return one_token(model, cached.prepared(image, GREY_28, offset).input)


def judged(least: float, most: float, guess: str) -> str:
    """Whether a guess of `GUESSES` was right; least, most: of the weights of all layers."""
    right = guess == "1" and least == most == 1.0
    return f"You said {GUESSES[guess].lower()}: {'right' if right else 'not so'}, here it is {most:g} in every layer."


def describe(found: OneToken) -> str:
    """What the queries and keys are worth, from the numbers."""
    nothing = "no logit changes at all" if found.changed == 0 else f"a logit changes by {found.changed:.1e}"
    return (
        f"With its queries and keys {LARGER:.0f} times as long and turned round, {nothing}: they are"
        f" {found.idle:,} of {found.parameters:,} parameters ({percent(found.idle / found.parameters)}) that cannot"
        f" learn anything. What is left are linear maps and ReLUs, an MLP; so the {SAID_BY_LECTURE} % that the lecture"
        " prints for MNIST are an MLP's. The weights here are random: A is 1 for any."
    )


MATHEMATICS = r"""
The whole picture, flattened, is the only token: $X \in \mathbb{R}^{1 \times D}$, so $QK^\top$ is one number, and

$$
A = \mathrm{softmax}\Bigl(\tfrac{q \cdot k}{\sqrt d}\Bigr) = \frac{e^{s}}{e^{s}} = 1, \qquad AV = V .
$$

Neither $W_q$ nor $W_k$ is in the output, and their gradients are 0. Attention compares tokens; one has nobody to ask.
"""
