"""Study the lecture's flat attention net: the image is one token, so every attention weight is 1."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.frame import page
from pages.questions.prediction_gate import ask_options
from pages.selection import selection
from pages.selection.selection import Selection
from pages.stores import shared_cache
from pages.studies.study import Line, Study, View
from vitviz.analysis.attention import softmax
from vitviz.models.presets import GREY_28, PRESETS
from vitviz.plots.theme import Mode
from vitviz.text import percent, signed

if TYPE_CHECKING:
    from vitviz.probe.one_token import OneToken

PRESET = "recipe_e"
GUESS = "hybrids.weight"
SCALE, STRIP_PX = 25, 48  # of the image, and the height of the token
PREDICTIONS = {"0": "0", "0.5": "0.5", "1": "1", "picture": "Depends on the image"}
_LECTURE_ACCURACY = 97.04  # percent on MNIST's test images, as printed in the lecture


def build(_mode: Mode) -> View:
    selected = selection.get_current()
    net = _compute_attention(selected.image, selected.offset)
    return View(
        partial(_draw_token, selected),
        describe_one_token(net),
        ask_options(
            GUESS,
            PRESET,
            "The whole image is one token. With what weight does it attend to itself?",
            PREDICTIONS,
            lambda guess: judge_prediction(float(net.attention.min()), float(net.attention.max()), guess),
        ),
        conceals=False,
        above=partial(_write_scores, net),
        below=partial(_draw_weights, net),
    )


def _draw_token(selected: Selection) -> None:
    """Draw the image, and below it the same pixels in a row, the only token."""
    image = np.asarray(shared_cache.prepare_image(selected.image, GREY_28, selected.offset).shown)
    token = image.reshape(1, -1, *image.shape[2:])
    text = f"One token: all {token.shape[1]} pixels"
    st.image(image.repeat(SCALE, 0).repeat(SCALE, 1), alt=f"Input image. {text}")
    st.image(token.repeat(STRIP_PX, 0), caption=text, alt=f"{text}, in a row")


def _write_scores(net: OneToken) -> None:
    scores = " and ".join(signed(float(score), 4) for score in net.scores)
    page.markdown(f"Scores of layers 1 and 2 before the softmax: {scores}.")


def _draw_weights(net: OneToken) -> None:
    for number, column in enumerate(st.columns(2)):
        with column:
            weight = f"{float(net.attention[number].max()):.6f}"
            st.metric(f"A of layer {number + 1}", weight, border=True)
            page.shapes(A=net.attention[number].shape)


@shared_cache.per_image(shared=16, upload=2)
def _compute_attention(image: str, offset: shared_cache.Offset) -> OneToken:
    from vitviz.models.lecture_nets import FlatAttention
    from vitviz.models.zoo import create_model
    from vitviz.probe.one_token import record_one_token

    model = create_model(PRESETS[PRESET].config, seed=0).eval().requires_grad_(False)
    assert isinstance(model, FlatAttention)
    return record_one_token(model, shared_cache.prepare_image(image, GREY_28, offset).input)


def judge_prediction(least: float, most: float, prediction: str) -> str:
    """Return the verdict on a key of `PREDICTIONS`; least, most: of the weights of all layers."""
    if prediction == "1" and least == most == 1.0:
        return f"Your prediction is correct: {most:g} in every layer."
    return f"Your prediction: {PREDICTIONS[prediction].lower()}. Computed: {most:g} in every layer."


def describe_one_token(net: OneToken) -> str:
    from vitviz.probe.one_token import LARGER

    change = "changes no logit" if net.changed == 0 else f"changes a logit by {net.changed:.1e}"
    return (
        f"Scaling queries and keys by {LARGER:.0f} {change}; they hold {net.idle:,} of {net.parameters:,} parameters"
        f" ({percent(net.idle / net.parameters)}). The rest is an MLP, so the lecture's {_LECTURE_ACCURACY} % on MNIST"
        " is the accuracy of an MLP. The attention weight is 1 for any weights of the model; here they are random."
    )


def sketch_weights() -> list[Line]:
    """Return the line of all scores, and the weight of a single token over its score: 1 everywhere."""
    scores = np.linspace(-2.0, 2.0, 9)
    return [(scores, scores), (scores, softmax(scores[:, None])[:, 0].astype(float))]


STUDY = Study(
    "one_token",
    "One token",
    "What does attention learn if the image is one token?",
    2,
    (),
    build,
    keys=(GUESS,),
    sketch=sketch_weights,
    math=page.read_math(__file__),
    code=(
        "vitviz.models.lecture_nets:FlatAttention",
        "vitviz.models.lecture_nets:FlatAttentionLayer",
        "vitviz.probe.one_token:record_one_token",
    ),
)
