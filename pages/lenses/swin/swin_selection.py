"""Crop the selected image for a Swin."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pages.selection import selection
from pages.stores import shared_cache

IMAGE_PX = 384


def crop_image() -> NDArray[np.uint8]:
    """Return the square that the sidebar's model receives, (S, S, 3), at the source's resolution if finer."""
    image, preparation = selection.get_current().image, selection.get_model_choice().preparation
    prepared = selection.prepare_image(preparation)
    if preparation.digit:
        return prepared.shown
    top, left, side = prepared.box
    if side <= IMAGE_PX / 2:
        return prepared.shown
    source = Image.fromarray(np.ascontiguousarray(shared_cache.load_image(image)))
    box = (left, top, left + side, top + side)
    px = min(IMAGE_PX, round(side))
    return np.asarray(source.resize((px, px), Image.Resampling.BICUBIC, box=box))
