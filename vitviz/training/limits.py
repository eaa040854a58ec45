"""Limit a requested run: its model, snapshots, updates and time, without building any of it.

A run shares its machine with a class. What is checked here is known from the config alone, so a form, a link and an
archive are all told at once; how long a run may train is watched over by the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from math import ceil

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    SwinConfig,
    TrainConfig,
    ViTConfig,
)
from vitviz.models import parameter_count

MAX_PARAMETERS = 15_000_000  # 60 MB in fp32: a snapshot that `checkpoints.MAX_BYTES` lets everybody open
MAX_SNAPSHOT_BYTES = 512 * 2**20  # of all snapshots of all members
MAX_LAYERS = 256
MAX_TOKENS = 4096  # attention costs their square
MAX_BATCH_VALUES = 2**27  # batch x tokens x width x layers: some 8 GB while training
MAX_WEIGHTS = 2**27  # heads x queries x keys of all layers, of one image: 512 MB where a page looks at them
MAX_BATCH_WEIGHTS = 2**29  # of one layer, of a batch: 2 GB while training
MAX_STEPS = 2_000_000
MAX_TRAINING_S = 24 * 3600.0
_PICTURES = {"digits": 1_500, "shapes": 20_000}  # more than the set has; of others:
_MOST_PICTURES = 60_000


def check_run(parts: Sequence[tuple[ModelConfig, TrainConfig]]) -> None:
    """Refuse a run that would take more than its share.

    Args:
        parts: each model of the run and how it is trained: one, or an experiment's.

    Raises:
        ValueError: stating what was asked for and what may be.
    """
    for model, train in parts:
        _check_model(model, train.batch_size)
        _check_length(model, train)
    stored = sum(parameters(model) * 4 * train.snapshots for model, train in parts)
    if stored > MAX_SNAPSHOT_BYTES:
        count = max(train.snapshots for _, train in parts)
        raise ValueError(
            f"{count} snapshots of {stored / count / 2**20:,.0f} MB are {stored / 2**20:,.0f} MB;"
            f" a run may keep up to {MAX_SNAPSHOT_BYTES >> 20:,} MB: take fewer snapshots or a smaller model"
        )


def _check_length(model: ModelConfig, train: TrainConfig) -> None:
    if train.epochs is not None:
        pictures = _PICTURES.get(train.dataset, _MOST_PICTURES) * train.train_fraction
        if train.a_class is not None:
            pictures = min(pictures, train.a_class * model.num_classes)
        steps = ceil(train.epochs * pictures / train.batch_size)
        if steps > MAX_STEPS:
            raise ValueError(
                f"{train.epochs:g} epochs of up to {pictures:,.0f} images in batches of {train.batch_size} are"
                f" {steps:,} steps; up to {MAX_STEPS:,} are made: take fewer epochs or larger batches"
            )
    elif train.seconds is not None and train.seconds > MAX_TRAINING_S:
        raise ValueError(
            f"a run may train for up to {MAX_TRAINING_S / 3600:g} hours, {train.seconds / 3600:,.1f} were asked for"
        )


def _check_model(model: ModelConfig, batch: int) -> None:
    size = _extent(model)
    if size.layers > MAX_LAYERS:
        raise ValueError(f"this model has {size.layers:,} layers; up to {MAX_LAYERS} are trained here")
    count = parameters(model)
    if count > MAX_PARAMETERS:
        raise ValueError(
            f"this model has {count:,} parameters; up to {MAX_PARAMETERS:,} are trained here:"
            " make it narrower or less deep"
        )
    if size.compared > MAX_TOKENS:
        raise ValueError(
            f"this model compares {size.compared:,} tokens with each other; up to {MAX_TOKENS:,} are compared here:"
            " take larger patches or smaller windows or images"
        )
    values = batch * size.cells * size.width * size.layers
    if values > MAX_BATCH_VALUES:
        raise ValueError(
            f"a batch of {batch:,} images of {size.cells:,} tokens of width {size.width:,} in {size.layers:,} layers"
            f" are {values:,} values; up to {MAX_BATCH_VALUES:,} are held here: take smaller batches or a smaller model"
        )
    weights = size.heads * size.cells * size.compared  # of a layer
    if size.layers * weights > MAX_WEIGHTS:
        raise ValueError(
            f"{size.layers} layers of {size.heads} heads over {size.cells:,} tokens have {size.layers * weights:,}"
            f" attention weights; up to {MAX_WEIGHTS:,} are looked at here: take larger patches, fewer heads or layers"
        )
    if batch * weights > MAX_BATCH_WEIGHTS:
        raise ValueError(
            f"a batch of {batch:,} images has {batch * weights:,} attention weights in a layer; up to"
            f" {MAX_BATCH_WEIGHTS:,} are held here: take smaller batches, larger patches or fewer heads"
        )


@dataclass(frozen=True)
class _Extent:
    layers: int
    compared: int  # tokens that attend to each other
    cells: int  # of an image, at the width below
    width: int
    heads: int  # at most, of a layer


@singledispatch
def _extent(model: ModelConfig) -> _Extent:
    raise ValueError(f"a {type(model).__name__} is not trained here")


@_extent.register
def _(model: ViTConfig) -> _Extent:
    rows, cols = model.grid
    tokens = rows * cols + len(model.prefix_tokens)
    return _Extent(model.depth + len(model.stem), tokens, tokens, model.embed_dim, model.num_heads)


@_extent.register
def _(model: SwinConfig) -> _Extent:
    side = model.image_size // model.patch_size
    # In torchvision's convention a window may be larger than the image; later stages hold half as much.
    return _Extent(sum(model.depths), model.window_size**2, side**2, model.embed_dim, max(model.num_heads))


@_extent.register
def _(model: CNNConfig) -> _Extent:
    return _Extent(sum(model.blocks) + 1, 1, model.image_size**2, model.widths[0], 1)


@_extent.register
def _(model: ConvAttentionConfig) -> _Extent:
    return _Extent(1, model.image_size**2, model.image_size**2, model.channels, 1)


@_extent.register
def _(model: FlatAttentionConfig) -> _Extent:
    return _Extent(2, 1, 1, max(model.widths), 1)


def parameters(model: ModelConfig) -> int:
    """Return how many numbers a model of this config is trained on, counted without building it."""
    return sum(parameter_count.parameters(model).values())
