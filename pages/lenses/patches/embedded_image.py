"""The selected image, cut into patches and embedded at the selected sizes, and the controls of these sizes."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod, sqrt
from typing import cast

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from torch import nn

from pages.controls import popover, widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.patches import PatchSize, patch_sizes
from vitviz.config import SwinConfig, ViTConfig
from vitviz.config_fields import Size, as_shape, format_size
from vitviz.models import token_layout, zoo
from vitviz.models.abilities import abilities, as_cut
from vitviz.models.vit import VisionTransformer
from vitviz.probe.embedding import Embedding, FloatArray, embed, of_other_size

SEED = 0


@dataclass(frozen=True, eq=False)
class EmbeddedImage:
    """An image at one size, the model that embeds it, and the embedding.

    original_patch_size: E is the selected model's own; otherwise a seeded random model replaces it.
    original_image_size: the image has the size that the model was designed for.
    """

    model_choice: ModelChoice
    image_key: str
    cache_key: tuple[Hashable, ...]  # weights, crop and sizes; identifies the input together with `image_key`
    model: nn.Module
    config: ViTConfig | SwinConfig
    original_patch_size: bool
    original_image_size: bool
    classes: tuple[str, ...]
    values: FloatArray  # (C, H, W)
    pixels: NDArray[np.uint8]  # (H, W, 3)
    embedding: Embedding

    @property
    def patch_px(self) -> int:
        """P."""
        return self.config.patch_size

    @property
    def layout(self) -> token_layout.TokenLayout:
        """The layout of the token sequence."""
        rows, cols = (side // self.patch_px for side in self.values.shape[1:])
        return token_layout.TokenLayout(tuple(self.embedding.prefix), (rows, cols), self.patch_px)

    @property
    def trained(self) -> bool:
        """True if E was trained."""
        return self.original_patch_size and self.model_choice.trained_on is not None

    @property
    def vit(self) -> VisionTransformer:
        """The model, which the caller has checked to be a ViT."""
        return cast(VisionTransformer, self.model)


IMAGE_SIZES = (28, 32, 48, 64, 96, 128, 192, 224)
PATCH_SIZES = (2, 4, 6, 7, 8, 12, 14, 16, 28, 32)
PatchSizes = dict[Size, list[PatchSize]]  # by image size in pixels


def embed_selected_image(image_size: Size, patch_px: int) -> EmbeddedImage:
    """Embed the selected image with the selected model, which must have a patch embedding."""
    nouns, choice = selection.get_current(), selection.get_model_choice()
    loaded = shared_cache.load_model(choice, nouns.step)
    config, model = as_cut(loaded.config), loaded.model
    original_patch_size = patch_px == config.patch_size
    original_image_size = image_size == config.image_size
    if not original_patch_size:
        config = of_other_size(cast(ViTConfig, config), image_size, patch_px)
        model = _create_random_model(config)
    preparation = loaded.preparation
    if image_size != preparation.image_size:
        preparation = replace(preparation, image_size=image_size)
    prepared = selection.prepare_image(preparation)
    cache_key = (loaded.digest, nouns.offset, image_size, patch_px)
    return EmbeddedImage(
        model_choice=choice,
        image_key=nouns.image,
        cache_key=cache_key,
        model=model,
        config=config,
        original_patch_size=original_patch_size,
        original_image_size=original_image_size,
        classes=loaded.classes,
        values=prepared.input,
        pixels=prepared.shown,
        embedding=_embed(nouns.image, cache_key, model, prepared.input),
    )


@shared_cache.shared(max_entries=6, spinner="Creating random weights for this size …")
def _create_random_model(config: ViTConfig) -> nn.Module:
    return zoo.create_model(config, seed=SEED).eval().requires_grad_(False)


@shared_cache.per_image(shared=24, upload=4)
def _embed(image: str, key: tuple[Hashable, ...], _model: nn.Module, _values: FloatArray) -> Embedding:
    return embed(_model, _values)


@lru_cache(maxsize=64)
def list_patch_sizes(config: ViTConfig | SwinConfig) -> PatchSizes:
    """Return the patch sizes of every image size that allows at least one."""
    images: set[Size] = {config.image_size}
    candidates = {config.patch_size}
    if abilities(config).any_size:
        images, candidates = {*IMAGE_SIZES, *images}, {*PATCH_SIZES, *candidates}
    sizes = {
        size: patch_sizes(as_shape(size), tuple(candidates)) for size in sorted(images, key=_measure_size)
    }
    return {size: row for size, row in sizes.items() if any(patch.reason is None for patch in row)}


def _measure_size(size: Size) -> tuple[float, bool]:
    return sqrt(prod(as_shape(size))), isinstance(size, tuple)


def draw_size_controls(
    model: ModelChoice, sizes: PatchSizes, original_patch_px: int
) -> tuple[Size, int, popover.Popover]:
    """Draw the controls; return image and patch size in pixels, and the popover of the other options.

    Args:
        model: the selected model.
        sizes: `list_patch_sizes` of the model; not empty.
        original_patch_px: the patch size of the model.
    """
    with page.row():
        place, options = st.container(width="content"), page.options("patches")
    with options:
        image_size = _draw_image_size(sizes, model.config.image_size)
    allowed = tuple(size.patch_px for size in sizes[image_size] if size.reason is None)
    reasons = [f"{size.patch_px} px: {size.reason}." for size in sizes[image_size] if size.reason]
    fixed = abilities(model.config).any_size.why_not
    with place:
        patch_px = widgets.segmented(
            "patches.patch_px",
            "Patch size P, in pixels",
            allowed,
            original_patch_px if original_patch_px in allowed else allowed[len(allowed) // 2],
            help="  \n".join(
                [
                    fixed or f"This model has {original_patch_px} px patches; other sizes use a random E.",
                    *reasons,
                ]
            ),
        )
    return image_size, patch_px, options


def _draw_image_size(sizes: PatchSizes, original: Size) -> Size:
    original_px = _measure_size(original)[0]
    nearest = min(sizes, key=lambda size: abs(_measure_size(size)[0] - original_px))
    default = original if original in sizes else nearest
    widgets.follow_default("patches.image_px", default)
    return widgets.select(
        "patches.image_px",
        "Image size",
        tuple(sizes),
        default,
        format_func=lambda size: f"{format_size(size)} px" + (" (original)" if size == original else ""),
        help="Side of the square input, or height × width. E depends only on the patch size.",
    )
