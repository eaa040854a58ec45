"""The patch embedding of the chosen model at the sizes that a page asks for, as arrays."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray
from torch import nn

from pages.shell import nouns
from pages.stores import cached
from pages.stores.choice import ModelChoice
from vitviz.analysis import patches
from vitviz.config import ModelConfig, Preparation, SwinConfig, ViTConfig
from vitviz.models.zoo import create_model
from vitviz.probe.capture import as_array, capture

SEED = 0
STAND_IN_DEPTH = 4  # what stands in shows a random E; the depth of a large model would only cost memory
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Embedding:
    """A picture's way into a model.

    own_patch: the model's own E; False: a seeded random model stands in, for a patch size it was not made for.
    own_size: the picture has the size that the model was made for.
    """

    image: str
    key: tuple[Hashable, ...]  # weights, crop and sizes: with the picture what caches know it by
    model: nn.Module
    config: ViTConfig | SwinConfig
    own_patch: bool
    own_size: bool
    values: FloatArray  # (C, S, S)
    shown: NDArray[np.uint8]  # (S, S, 3)
    weight: FloatArray  # (D, C P^2)
    bias: FloatArray | None  # (D,)
    convolved: FloatArray  # (N, D), by the model's own Conv2d
    tokens: FloatArray  # (N, D), the model's record
    prefix: dict[str, FloatArray]
    table: FloatArray | None  # E_pos as the model adds it, (N, D) or (P + N, D)

    @property
    def patch_px(self) -> int:
        """P."""
        return self.config.patch_size


def reason_against(config: ModelConfig) -> str | None:
    """Why a model has no patch embedding to show, in one sentence; None where it has one."""
    if isinstance(config, ViTConfig) and config.stem:
        return (
            f"This hybrid reads the picture through {len(config.stem)} overlapping 3 × 3 convolutions, so its"
            " tokens are not cut from squares and there is no single matrix E."
        )
    if isinstance(config, ViTConfig | SwinConfig):
        return None
    return {
        "cnn": "A CNN slides small overlapping filters over the whole picture: it never cuts it into patches.",
        "conv_attention": "Here queries, keys and values are 3 × 3 convolutions of the picture: no patches.",
        "flat_attention": "Here the whole picture is one flat vector, so there is one token and no patch.",
    }[config.kind]


@st.cache_resource(max_entries=6, show_spinner="Drawing random weights for this size …")
def _stand_in(config: ViTConfig) -> nn.Module:
    return create_model(config, seed=SEED).eval().requires_grad_(False)


def _without_positions(model: nn.Module, config: ViTConfig) -> nn.Module:
    """The same weights, shared and not copied, with nothing added for the position."""
    twin = copy(model)
    for store in ("_parameters", "_buffers", "_modules"):
        twin.__dict__[store] = dict(model.__dict__[store])
    for name in ("pos_embed", "pos_proj", "fixed_table"):
        setattr(twin, name, None)
    twin.config = replace(config, positions="none")
    return twin


def embedding(image_px: int, patch_px: int) -> Embedding:
    """Cut and embed the chosen picture at this size; the caller has asked `reason_against`."""
    now = nouns.current()
    loaded = cached.loaded(nouns.choice(), now.step)
    config: Any = loaded.config
    own_patch, own_size = patch_px == config.patch_size, image_px == config.image_size
    network = loaded.model
    if not own_patch:
        depth = min(config.depth, STAND_IN_DEPTH)
        config = replace(config, image_size=image_px, patch_size=patch_px, depth=depth)
        network = _stand_in(config)
    preparation: Preparation = replace(loaded.preparation, image_size=image_px)
    prepared = nouns.prepared(preparation)
    proj = network.patch_embed.proj
    key = (loaded.digest, now.offset, image_px, patch_px)
    convolved, tokens, table = _embedded(now.image, key, network, prepared.input)
    return Embedding(
        now.image,
        key,
        network,
        config,
        own_patch,
        own_size,
        prepared.input,
        prepared.shown,
        np.ascontiguousarray(as_array(proj.weight).reshape(len(proj.weight), -1)),
        None if proj.bias is None else as_array(proj.bias),
        convolved,
        tokens,
        _prefix(network, config) if isinstance(config, ViTConfig) else {},
        table,
    )


@cached.per_picture(shared=24, upload=4)
def _embedded(
    image: str, key: tuple[Hashable, ...], _network: Any, _values: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """E x by the model's own Conv2d, the tokens that it records, and its table of positions."""
    with torch.inference_mode():
        convolved = as_array(_network.patch_embed.proj(torch.tensor(_values)[None])[0].flatten(1).T)
    if not isinstance(_network.config, ViTConfig):
        return convolved, convolved, None
    record = capture(_network, _values[None], ["patch_embed", "pos_embed"])
    table = record.arrays["pos_embed"][0] if "pos_embed" in record.arrays else None
    return convolved, record["patch_embed"][0], table


def _prefix(model: Any, config: ViTConfig) -> dict[str, FloatArray]:
    learned = [t for t in (model.cls_token, model.dist_token, model.reg_token) if t is not None]
    rows = torch.cat([t[0] for t in learned]) if learned else torch.zeros(0, config.embed_dim)
    return dict(zip(config.prefix_tokens, as_array(rows), strict=True))


@dataclass(frozen=True, eq=False)
class Contender:
    """A model that solves, or does not notice, the puzzle; the digest tells its weights from others."""

    digest: str
    title: str
    note: str
    model: nn.Module
    softmax_output: bool


@dataclass(frozen=True, eq=False)
class Puzzle:
    """Class probabilities (classes,) of the picture in order and shuffled, and the largest change of a class."""

    contender: Contender
    before: FloatArray
    after: FloatArray
    change: float


def contenders(choice: ModelChoice, found: Embedding) -> list[Contender]:
    """The model, its twin without positions, and one that was trained without them where one is shipped."""
    config = found.config
    if not isinstance(config, ViTConfig):
        return []
    ends = config.softmax_output
    if config.positions == "none":
        return [Contender("", "Without positions", "the model as it is", found.model, ends)]
    twin = _without_positions(found.model, config)
    models = [
        Contender("", "With positions", "the model as it is", found.model, ends),
        Contender("", "Without positions", "the same weights, E_pos = 0", twin, ends),
    ]
    if not (found.own_patch and found.own_size and choice.trained_on):
        return models
    for other in nouns.models().values():
        same_but_blind = other.config == replace(config, positions="none")
        if same_but_blind and (other.trained_on, other.preparation) == (
            choice.trained_on,
            choice.preparation,
        ):
            blind = cached.loaded(other)
            models.append(
                Contender(blind.digest, "Trained without positions", other.title, blind.model, ends)
            )
            break
    return models


def puzzle(found: Embedding, order: NDArray[np.int64], contender: Contender) -> Puzzle:
    """Both pictures through one model."""
    key = (*found.key, contender.digest, contender.title, tuple(order.tolist()))
    before, after = _answered(found.image, key, found, order, contender)
    return Puzzle(contender, before, after, patches.largest_difference(before, after))


@cached.per_picture(shared=64, upload=8)
def _answered(
    image: str, key: tuple[Hashable, ...], _found: Embedding, _order: NDArray[np.int64], _contender: Contender
) -> tuple[FloatArray, FloatArray]:
    batch = np.stack([_found.values, patches.scramble(_found.values, _found.patch_px, _order)])
    logits = capture(_contender.model, batch, ["logits"]).logits
    before, after = patches.probabilities(logits, _contender.softmax_output)
    return before, after
