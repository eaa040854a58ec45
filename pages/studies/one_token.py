"""Compute and draw the lecture's flat attention net: the image is one token, so every attention weight is 1."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.selection.selection import Selection
from pages.stores import shared_cache
from pages.studies.study import Line, Values
from vitviz.analysis.attention import softmax
from vitviz.analysis.study_numbers import Numbers
from vitviz.models.presets import GREY_28, PRESETS
from vitviz.plots.theme import Mode
from vitviz.text import percent, signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from vitviz.probe.one_token import OneToken

PRESET = "recipe_e"
SCALE, STRIP_PX = 25, 48  # of the image, and the height of the token


@shared_cache.per_image(shared=16, upload=2)
def _compute(image: str, offset: shared_cache.Offset) -> OneToken:
    from vitviz.models.lecture_nets import FlatAttention
    from vitviz.models.zoo import create_model
    from vitviz.probe.one_token import record_one_token

    model = create_model(PRESETS[PRESET].config, seed=0).eval().requires_grad_(False)
    assert isinstance(model, FlatAttention)
    return record_one_token(model, shared_cache.prepare_image(image, GREY_28, offset).input)


def compute_attention() -> OneToken:
    selected = selection.get_current()
    return _compute(selected.image, selected.offset)


def read(values: Values, numbers: None) -> Numbers:
    """Return the words of the sentences."""
    from vitviz.probe.one_token import LARGER

    net = compute_attention()
    extra = {
        "factor": f"{LARGER:.0f}",
        "idle": f"{net.idle:,}",
        "parameters": f"{net.parameters:,}",
        "idle share": percent(net.idle / net.parameters),
    }
    return Numbers({}, {}, extra=extra)


def chart(values: Values, numbers: Numbers, mode: Mode) -> Callable[[], None]:
    return partial(_draw_token, selection.get_current())


def _draw_token(selected: Selection) -> None:
    """Draw the image, and below it the same pixels in a row, the only token."""
    image = np.asarray(shared_cache.prepare_image(selected.image, GREY_28, selected.offset).shown)
    token = image.reshape(1, -1, *image.shape[2:])
    text = f"One token: all {token.shape[1]} pixels"
    st.image(image.repeat(SCALE, 0).repeat(SCALE, 1), alt=f"Input image. {text}")
    st.image(token.repeat(STRIP_PX, 0), caption=text, alt=f"{text}, in a row")


def draw_above(values: Values, numbers: Numbers) -> None:
    scores = " and ".join(signed(float(score), 4) for score in compute_attention().scores)
    page.markdown(f"Scores of layers 1 and 2 before the softmax: {scores}.")


def draw_below(values: Values, numbers: Numbers) -> None:
    net = compute_attention()
    for number, column in enumerate(st.columns(2)):
        with column:
            weight = f"{float(net.attention[number].max()):.6f}"
            st.metric(f"A of layer {number + 1}", weight, border=True)
            page.shapes(A=net.attention[number].shape)


def sketch() -> list[Line]:
    """Return the line of all scores, and the weight of a single token over its score: 1 everywhere."""
    scores = np.linspace(-2.0, 2.0, 9)
    return [(scores, scores), (scores, softmax(scores[:, None])[:, 0].astype(float))]
