"""Draw the only token of the lecture's flat attention net: all pixels of the image in a row."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from pages.frame import page
from pages.selection import selection
from pages.selection.selection import Selection
from pages.stores import shared_cache
from pages.studies.study import CurvePoints, Values
from vitviz.analysis.attention import softmax
from vitviz.models.presets import GREY_28
from vitviz.plots.theme import Mode

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE, STRIP_PX = 25, 48  # of the image, and the height of the token


def chart(values: Values, numbers: None, mode: Mode) -> Callable[[], None]:
    return partial(_draw_token, selection.get_current())


def _draw_token(selected: Selection) -> None:
    """Draw the image, and below it the same pixels in a row, the only token."""
    image = np.asarray(shared_cache.prepare_image(selected.image, GREY_28, selected.offset).shown)
    token = image.reshape(1, -1, *image.shape[2:])
    text = f"One token: all {token.shape[1]} pixels"
    st.image(image.repeat(SCALE, 0).repeat(SCALE, 1), alt=f"Input image. {text}")
    st.image(token.repeat(STRIP_PX, 0), caption=text, alt=f"{text}, in a row")


def draw_above(values: Values, numbers: None) -> None:
    page.markdown("The score of the only token with itself is one number $s$; its softmax is $e^s / e^s$.")


def sketch() -> list[CurvePoints]:
    """Return the line of all scores, and the weight of a single token over its score: 1 everywhere."""
    scores = np.linspace(-2.0, 2.0, 9)
    return [(scores, scores), (scores, softmax(scores[:, None])[:, 0].astype(float))]
