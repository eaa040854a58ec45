"""Fit a ViT to the proportions of a whole image: its positions are resized after its publisher's rule."""

from __future__ import annotations

from dataclasses import replace
from math import prod, sqrt
from typing import TYPE_CHECKING

from vitviz.config import ModelConfig, Preparation, ViTConfig
from vitviz.config_fields import Size, join_size

if TYPE_CHECKING:
    from vitviz.models.loaded_model import LoadedModel

MOST_TIMES = 2  # as many patches as the model's own images have
MOST_PATCHES = 900  # of larger images, unless the model's own have more


def explain_fixed_shape(config: ModelConfig, preparation: Preparation) -> str:
    """Return why a model cannot read images in their own proportions; '' if it can."""
    if not isinstance(config, ViTConfig):
        return "Only a ViT reads images of other proportions: its positions are resized."
    if preparation.digit:
        return "A model of digits always reads the whole drawing."
    if config.embed == "reshape":
        return "The rows of pixels that this model takes for patches depend on the image's width."
    return ""


def fit_size(config: ViTConfig, image_shape: tuple[int, int]) -> Size:
    """Return the input size in whole patches that is nearest to an image's proportions.

    The shorter side has as many patches as the model's own images have, or fewer where the image would have more than
    `MOST_TIMES` as many or more than `MOST_PATCHES`.

    Args:
        image_shape: (height, width) of the image.
    """
    native = prod(config.grid)
    most = min(MOST_TIMES * native, max(MOST_PATCHES, native))
    scale = min(min(config.grid) / min(image_shape), sqrt(most / prod(image_shape)))
    return join_size([max(1, round(side * scale)) * config.patch_size for side in image_shape])


def fit_preparation(preparation: Preparation, size: Size) -> Preparation:
    """Return the preparation that keeps an image's proportions and cuts less than a patch of it."""
    return replace(preparation, image_size=size, resize="shorter", crop_fraction=1.0)


def fit_model(loaded: LoadedModel, size: Size) -> LoadedModel:
    """Return a ViT for whole images of a size, with the same weights and resized positions."""
    from vitviz.models.formats import apply_given

    resized = loaded if loaded.config.image_size == size else apply_given(loaded, {"img_size": size})
    return replace(
        resized,
        preparation=fit_preparation(loaded.preparation, size),
        digest=f"{resized.digest}:whole",
    )
