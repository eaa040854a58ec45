"""What the Swin page looks at: the chosen Swin, or one that stands in for it, and the picture as it is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from PIL import Image

from pages.selection import selection, substitute
from pages.stores import cached, catalogue
from pages.stores.model_choice import ModelChoice
from pages.views.event_values import events_of, pin
from vitviz.config import Preparation, SwinConfig
from vitviz.models.abilities import abilities, as_swin
from vitviz.models.loaded_model import LoadedModel
from vitviz.text import plain

PICTURE_PX = 384


@dataclass(frozen=True)
class Subject:
    """A Swin at one step of its training; the picture is the sidebar's."""

    choice: ModelChoice
    step: int

    @property
    def model(self) -> LoadedModel:
        """With its weights."""
        return cached.loaded(self.choice, self.step)

    @property
    def config(self) -> SwinConfig:
        """Its shape."""
        return as_swin(self.choice.config)

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, columns) of the picture's patches in the first stage."""
        height, width = selection.prepared(self.model.preparation).input.shape[-2:]
        return self.model.swin.layout(height, width).grid

    @property
    def picture(self) -> NDArray[np.uint8]:
        """The square that it sees, (S, S, 3)."""
        return picture(self.model.preparation)


def current() -> Subject:
    """The sidebar's model and step if it is a Swin; else the nearest one."""
    chosen = selection.choice()
    if abilities(chosen.config).windows:
        return Subject(chosen, selection.current().step)
    found = substitute.nearest(lambda config: bool(abilities(config).windows))
    return Subject(found, found.last_step)


def introduce(now: Subject, *, reads: bool = True) -> None:
    """One quiet line: which Swin is shown; where it stands in for the sidebar's model, it can be chosen.

    Args:
        reads: whether it reads a picture here, which is then one of its own set.
    """
    substitute.say_which(now.choice, lacks="windows", button="Choose this Swin", key="swin.choose")
    if reads:
        substitute.take_its_picture(now.choice)
    if now.choice.key == selection.current().model and now.choice.trained_on is not None:
        data = plain(catalogue.data_title(now.choice.trained_on))
        st.markdown(f":small[:gray[{plain(now.choice.title)} · trained on {data}]]")


def picture(preparation: Preparation | None = None) -> NDArray[np.uint8]:
    """The square that a model sees (None: the sidebar's), (S, S, 3), from the source's pixels if finer."""
    image, how = selection.current().image, preparation or selection.choice().preparation
    prepared = selection.prepared(how)
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
    point = pin(events_of(key).get("pin"))
    if point is not None:
        selection.set_pin(point)
