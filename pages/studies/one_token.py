"""The lecture's flat attention net: the image is one token, so every attention weight is 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.hybrids import captions
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from vitviz.models.lecture_nets import FlatAttention, FlatAttentionLayer
from vitviz.models.presets import GREY_28, PRESETS
from vitviz.models.zoo import create_model
from vitviz.probe.one_token import OneToken, record_one_token
from vitviz.text import signed

PRESET = "recipe_e"
PREDICTIONS = {"0": "0", "0.5": "0.5", "1": "1", "picture": "Depends on the image"}

MATHEMATICS = r"""
The flattened image is the only token: $X \in \mathbb{R}^{1 \times D}$, so $QK^\top$ is one number, and

$$
A = \mathrm{softmax}\Bigl(\tfrac{q \cdot k}{\sqrt d}\Bigr) = \frac{e^{s}}{e^{s}} = 1, \qquad AV = V .
$$

The output depends on neither $W_q$ nor $W_k$, and their gradients are 0. Attention compares at least two tokens.
"""


@dataclass(frozen=True)
class WeightPrediction(widgets.ControlValues, page="hybrids"):
    """The predicted attention weight, a key of `PREDICTIONS`."""

    weight: str


def draw() -> None:
    selected = selection.get_current()
    net = _compute_attention(selected.image, selected.offset)
    predicted = prediction_gate.require_prediction(
        WeightPrediction.key("weight"),
        PRESET,
        "The whole image is one token. With which weight does it attend to itself?",
        PREDICTIONS,
        lambda prediction: judge_prediction(
            float(net.attention.min()), float(net.attention.max()), prediction
        ),
    )
    left, right = st.columns([1, 3], gap="medium", vertical_alignment="center")
    with left:
        image = np.asarray(selection.prepare_image(GREY_28).shown)
        text = f"One token: all {image.shape[0] * image.shape[1]} pixels"
        st.image(image, width=180, caption=text, alt=f"Input image. {text}")
    with right:
        for number, column in enumerate(st.columns(2)):
            weight = f"{float(net.attention[number].max()):.6f}"
            with column:
                st.metric(f"A of layer {number + 1}", weight if predicted else "?", border=True)
                page.shapes(A=net.attention[number].shape)
        scores = " and ".join(signed(float(score), 4) for score in net.scores)
        softmax = f" The softmax of a single score is 1 ({captions.VASWANI})." if predicted else ""
        page.markdown(f"Scores before the softmax: {scores}.{softmax}")
    page.caption(captions.describe_one_token(net) if predicted else "Predict to see the attention weights.")
    page.drawers("hybrids.flat", math=MATHEMATICS, code=(FlatAttention, FlatAttentionLayer, record_one_token))


@cached.per_image(shared=16, upload=2)
def _compute_attention(image: str, offset: cached.Offset) -> OneToken:
    model = create_model(PRESETS[PRESET].config, seed=0).eval().requires_grad_(False)
    assert isinstance(model, FlatAttention)
    return record_one_token(model, cached.prepare_image(image, GREY_28, offset).input)


def judge_prediction(least: float, most: float, prediction: str) -> str:
    """Return the verdict on a key of `PREDICTIONS`; least, most: of the weights of all layers."""
    if prediction == "1" and least == most == 1.0:
        return f"Your prediction is correct: {most:g} in every layer."
    return f"Your prediction: {PREDICTIONS[prediction].lower()}. Computed: {most:g} in every layer."
