"""The selected image, cut into patches and embedded at the selected sizes."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from pages.selection import selection
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import as_cut
from vitviz.models.token_layout import TokenLayout
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
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
    values: FloatArray  # (C, S, S)
    pixels: NDArray[np.uint8]  # (S, S, 3)
    embedding: Embedding

    @property
    def patch_px(self) -> int:
        """P."""
        return self.config.patch_size

    @property
    def layout(self) -> TokenLayout:
        """The layout of the token sequence."""
        side = self.values.shape[-1] // self.patch_px
        return TokenLayout(tuple(self.embedding.prefix), (side, side), self.patch_px)

    @property
    def trained(self) -> bool:
        """True if E was trained."""
        return self.original_patch_size and self.model_choice.trained_on is not None

    @property
    def vit(self) -> VisionTransformer:
        """The model, which the caller has checked to be a ViT."""
        return cast(VisionTransformer, self.model)


def embed_selected_image(image_px: int, patch_px: int) -> EmbeddedImage:
    """Embed the selected image with the selected model, which must have a patch embedding."""
    nouns, choice = selection.get_current(), selection.get_model_choice()
    loaded = shared_cache.load_model(choice, nouns.step)
    config, model = as_cut(loaded.config), loaded.model
    original_patch_size = patch_px == config.patch_size
    original_image_size = image_px == config.image_size
    if not original_patch_size:
        config = of_other_size(cast(ViTConfig, config), image_px, patch_px)
        model = _create_random_model(config)
    prepared = selection.prepare_image(replace(loaded.preparation, image_size=image_px))
    cache_key = (loaded.digest, nouns.offset, image_px, patch_px)
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
    return create_model(config, seed=SEED).eval().requires_grad_(False)


@shared_cache.per_image(shared=24, upload=4)
def _embed(image: str, key: tuple[Hashable, ...], _model: nn.Module, _values: FloatArray) -> Embedding:
    return embed(_model, _values)
