"""What the Swin page looks at: the chosen Swin, or one that stands in for it, and the picture as it is seen."""

from __future__ import annotations

import numpy as np
import streamlit as st
from PIL import Image

from pages.shell import nouns, stand_in
from pages.stores import cached, catalogue
from pages.stores.choice import ModelChoice
from vitviz.config import Preparation, SwinConfig
from vitviz.pin import Pin

PICTURE_PX = 384


def swin() -> tuple[ModelChoice, int]:
    """The sidebar's model and step if it is a Swin; else the nearest one."""
    chosen = nouns.choice()
    if isinstance(chosen.config, SwinConfig):
        return chosen, nouns.current().step
    found = stand_in.nearest(lambda config: isinstance(config, SwinConfig))
    return found, found.steps[-1]


def config_of(choice: ModelChoice) -> SwinConfig:
    """The choice's config.

    Raises:
        TypeError: if it is no Swin's.
    """
    if not isinstance(choice.config, SwinConfig):
        raise TypeError(f"{choice.key} must be a Swin, received a {type(choice.config).__name__}")
    return choice.config


def remind(choice: ModelChoice) -> None:
    """One quiet line: which Swin a further part of the page shows."""
    weights = (
        "random weights"
        if choice.trained_on is None
        else f"trained on {catalogue.data_title(choice.trained_on)}"
    )
    st.markdown(f":small[:gray[{choice.title} · {weights}]]")


def picture(preparation: Preparation | None = None) -> np.ndarray:
    """The square that a model sees (None: the sidebar's), (S, S, 3) uint8, from the source's pixels if finer."""
    image, how = nouns.current().image, preparation or nouns.choice().preparation
    prepared = nouns.prepared(how)
    if how.digit:
        return prepared.shown
    top, left, side = prepared.box
    if side <= PICTURE_PX / 2:
        return prepared.shown
    source = Image.fromarray(np.ascontiguousarray(cached.picture(image)))
    box = (left, top, left + side, top + side)
    px = min(PICTURE_PX, round(side))
    return np.asarray(source.resize((px, px), Image.Resampling.BICUBIC, box=box))


def keep_pin(key: str) -> None:
    """Makes the point that a view was clicked at the pin of every page."""
    point = st.session_state[key].get("pin")
    if point is not None:
        nouns.set_pin(Pin((float(point[0]), float(point[1]))))
