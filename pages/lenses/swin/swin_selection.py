"""Load the Swin that the sidebar shows, and its image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pages.selection import selection
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from pages.views.event_values import read_events, read_pin
from vitviz.config import Preparation, SwinConfig
from vitviz.models.abilities import as_swin
from vitviz.models.loaded_model import LoadedModel

IMAGE_PX = 384


@dataclass(frozen=True)
class SelectedSwin:
    """A Swin at one step of its training, applied to the sidebar's image."""

    choice: ModelChoice
    step: int

    @property
    def model(self) -> LoadedModel:
        return cached.load_model(self.choice, self.step)

    @property
    def config(self) -> SwinConfig:
        return as_swin(self.choice.config)

    @property
    def grid(self) -> tuple[int, int]:
        """The image's (rows, columns) of patches in the first stage."""
        height, width = selection.prepare_image(self.model.preparation).input.shape[-2:]
        return self.model.swin.layout(height, width).grid

    @property
    def image(self) -> NDArray[np.uint8]:
        """The square that the model receives, (S, S, 3)."""
        return crop_image(self.model.preparation)


def select_swin() -> SelectedSwin:
    """Return the Swin and the step that the sidebar shows."""
    return SelectedSwin(selection.get_model_choice(), selection.get_current().step)


def crop_image(preparation: Preparation | None = None) -> NDArray[np.uint8]:
    """Return the square that a model receives (None: the sidebar's), (S, S, 3), at the source's resolution if finer."""
    image, preparation = (
        selection.get_current().image,
        preparation or selection.get_model_choice().preparation,
    )
    prepared = selection.prepare_image(preparation)
    if preparation.digit:
        return prepared.shown
    top, left, side = prepared.box
    if side <= IMAGE_PX / 2:
        return prepared.shown
    source = Image.fromarray(np.ascontiguousarray(cached.load_image(image)))
    box = (left, top, left + side, top + side)
    px = min(IMAGE_PX, round(side))
    return np.asarray(source.resize((px, px), Image.Resampling.BICUBIC, box=box))


def store_pin(key: str) -> None:
    """Set the pin of all pages to the point that was clicked in a view."""
    point = read_pin(read_events(key).get("pin"))
    if point is not None:
        selection.set_pin(point)
