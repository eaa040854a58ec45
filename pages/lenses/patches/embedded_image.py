"""The chosen picture, cut and embedded at the sizes that the page's controls say."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from pages.lenses.patches.sizes import Choice
from pages.selection import selection
from pages.stores import cached
from pages.stores.model_choice import ModelChoice
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import Abilities, abilities
from vitviz.models.layout import TokenLayout
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model
from vitviz.probe.embedding import Embedding, FloatArray, embed, of_other_size

SEED = 0


@dataclass(frozen=True, eq=False)
class Cut:
    """A picture at one size, what embeds it, and what comes out.

    own_patch: the model's own E; False: a seeded random model stands in, for a patch size it was not made for.
    own_size: the picture has the size that the model was made for.
    """

    choice: ModelChoice
    image: str
    key: tuple[Hashable, ...]  # weights, crop and sizes: with the picture what caches know it by
    model: nn.Module
    config: ViTConfig | SwinConfig
    own_patch: bool
    own_size: bool
    classes: tuple[str, ...]
    values: FloatArray  # (C, S, S)
    shown: NDArray[np.uint8]  # (S, S, 3)
    found: Embedding

    @property
    def able(self) -> Abilities:
        """What the model has, and why not where it has not."""
        return abilities(self.config)

    @property
    def patch_px(self) -> int:
        """P."""
        return self.config.patch_size

    @property
    def own_patch_px(self) -> int:
        """The patch that the sidebar's model was made for."""
        return cast("ViTConfig | SwinConfig", self.choice.config).patch_size

    @property
    def layout(self) -> TokenLayout:
        """The sequence that the picture becomes."""
        side = self.values.shape[-1] // self.patch_px
        return TokenLayout(tuple(self.found.prefix), (side, side), self.patch_px)

    @property
    def trained(self) -> bool:
        """Whether the weights that are shown have learned from pictures."""
        return self.own_patch and self.choice.trained_on is not None

    @property
    def vit(self) -> VisionTransformer:
        """The model as a ViT; whoever asks has asked `able.blocks`."""
        return cast(VisionTransformer, self.model)


def current(chosen: Choice) -> Cut:
    """The chosen picture in the chosen model; the caller has asked `able.embedding`."""
    now, choice = selection.current(), selection.choice()
    loaded = cached.loaded(choice, now.step)
    config = cast("ViTConfig | SwinConfig", loaded.config)
    own_patch, own_size = chosen.patch_px == config.patch_size, chosen.image_px == config.image_size
    model = loaded.model
    if not own_patch:
        config = of_other_size(cast(ViTConfig, config), chosen.image_px, chosen.patch_px)
        model = _stand_in(config)
    prepared = selection.prepared(replace(loaded.preparation, image_size=chosen.image_px))
    key = (loaded.digest, now.offset, chosen.image_px, chosen.patch_px)
    return Cut(
        choice=choice,
        image=now.image,
        key=key,
        model=model,
        config=config,
        own_patch=own_patch,
        own_size=own_size,
        classes=loaded.classes,
        values=prepared.input,
        shown=prepared.shown,
        found=_embedded(now.image, key, model, prepared.input),
    )


@cached.shared(most=6, spinner="Drawing random weights for this size …")
def _stand_in(config: ViTConfig) -> nn.Module:
    return create_model(config, seed=SEED).eval().requires_grad_(False)


@cached.per_picture(shared=24, upload=4)
def _embedded(image: str, key: tuple[Hashable, ...], _model: nn.Module, _values: FloatArray) -> Embedding:
    return embed(_model, _values)
