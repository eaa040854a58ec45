"""How large a run a visitor may ask for: its model, its snapshots, its updates and its time, without building any.

A run shares its machine with a class. What is checked here is known from the config alone, so a form, a link and an
archive are all told at once; how long a run may train is watched over by the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from vitviz.config import CNNConfig, ConvAttentionConfig, ModelConfig, SwinConfig, TrainConfig, ViTConfig

MAX_PARAMETERS = 15_000_000  # 60 MB in fp32: a snapshot that `checkpoints.MAX_BYTES` lets everybody open
MAX_SNAPSHOT_BYTES = 512 * 2**20  # of all snapshots of all members
MAX_LAYERS = 256
MAX_TOKENS = 4096  # attention costs their square
MAX_BATCH_VALUES = 2**27  # batch x tokens x width x layers: some 8 GB while training
MAX_STEPS = 2_000_000
MAX_TRAINING_S = 24 * 3600.0
_PICTURES = {"digits": 1_500, "shapes": 20_000}  # more than the set has; of others:
_MOST_PICTURES = 60_000
_POOLED = 49  # cells that the head of ConvAttention reads


def check_run(models: Sequence[ModelConfig], train: TrainConfig) -> None:
    """Refuse a run that would take more than its share.

    Args:
        models: of the run: one, or an experiment's.
        train: how they are trained.

    Raises:
        ValueError: stating what was asked for and what may be.
    """
    for model in models:
        _check_model(model, train.batch_size)
    stored = sum(map(parameters, models)) * 4 * train.snapshots
    if stored > MAX_SNAPSHOT_BYTES:
        raise ValueError(
            f"{train.snapshots} snapshots of {stored / train.snapshots / 2**20:,.0f} MB are {stored / 2**20:,.0f} MB;"
            f" a run may keep up to {MAX_SNAPSHOT_BYTES >> 20:,} MB: take fewer snapshots or a smaller model"
        )
    if train.epochs is not None:
        pictures = _PICTURES.get(train.dataset, _MOST_PICTURES) * train.train_fraction
        steps = ceil(train.epochs * pictures / train.batch_size)
        if steps > MAX_STEPS:
            raise ValueError(
                f"{train.epochs:g} epochs of up to {pictures:,.0f} pictures in batches of {train.batch_size} are"
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
            " take larger patches or smaller windows or pictures"
        )
    values = batch * size.cells * size.width * size.layers
    if values > MAX_BATCH_VALUES:
        raise ValueError(
            f"a batch of {batch:,} pictures of {size.cells:,} tokens of width {size.width:,} in {size.layers:,} layers"
            f" are {values:,} values; up to {MAX_BATCH_VALUES:,} are held here: take smaller batches or a smaller model"
        )


@dataclass(frozen=True)
class _Extent:
    layers: int
    compared: int  # tokens that attend to each other
    cells: int  # of a picture, at the width below
    width: int


def _extent(model: ModelConfig) -> _Extent:
    if isinstance(model, ViTConfig):
        rows, cols = model.grid
        tokens = rows * cols + len(model.prefix_tokens)
        return _Extent(model.depth + len(model.stem), tokens, tokens, model.embed_dim)
    if isinstance(model, SwinConfig):
        side = model.image_size // model.patch_size
        # In torchvision's convention a window may be larger than the picture; later stages hold half as much.
        return _Extent(sum(model.depths), model.window_size**2, side**2, model.embed_dim)
    if isinstance(model, CNNConfig):
        return _Extent(sum(model.blocks) + 1, 1, model.image_size**2, model.widths[0])
    if isinstance(model, ConvAttentionConfig):
        return _Extent(1, model.image_size**2, model.image_size**2, model.channels)
    return _Extent(2, 1, 1, max(model.widths))


def parameters(model: ModelConfig) -> int:
    """How many numbers a model of this config is trained on, counted without building it."""
    if isinstance(model, ViTConfig):
        return _vit(model)
    if isinstance(model, SwinConfig):
        return _swin(model)
    if isinstance(model, CNNConfig):
        return _cnn(model)
    if isinstance(model, ConvAttentionConfig):
        convolutions = 3 * (9 * model.in_chans + 1) * model.channels
        return convolutions + (model.channels * _POOLED + 1) * model.num_classes
    first, second = model.widths
    maps = (model.in_chans * model.image_size**2 + 1) * first + (first + 1) * second
    return maps + sum(3 * dim * (dim + 1) for dim in model.widths) + (second + 1) * model.num_classes


def _vit(model: ViTConfig) -> int:
    dim, pixels = model.embed_dim, model.in_chans * model.patch_size**2
    hidden, prefix = int(dim * model.mlp_ratio), len(model.prefix_tokens)
    mapped = dim if model.head_input == "all" else dim // model.num_heads  # values that a head's maps read
    attention = 3 * dim * (mapped + model.qkv_bias) + (dim * (dim + 1) if model.output_projection else 0)
    block = attention + 2 * dim * hidden + hidden + dim + 4 * dim
    block += 2 * dim if model.layer_scale is not None else 0
    if model.stem:
        widths = (model.in_chans, *model.stem)
        embed = (
            sum(9 * a * b + 2 * b for a, b in zip(widths, widths[1:], strict=False)) + (widths[-1] + 1) * dim
        )
    else:
        embed = (pixels + model.embed_bias) * dim
    rows, cols = model.grid
    table = rows * cols + (prefix if model.position_on_prefix else 0)
    placed = {"learned": table * dim, "pixels": (pixels + 1) * dim}.get(model.positions, 0)
    heads = (1 + model.distilled) * (dim + 1) * model.num_classes
    return embed + placed + prefix * dim + model.depth * block + (2 * dim if model.final_norm else 0) + heads


def _swin(model: SwinConfig) -> int:
    count = (model.in_chans * model.patch_size**2 + 1 + 2) * model.embed_dim
    side = model.image_size // model.patch_size
    dim = model.embed_dim
    for stage, (depth, heads) in enumerate(zip(model.depths, model.num_heads, strict=True)):
        dim = model.embed_dim * 2**stage
        # A window never spans more than the grid in timm's convention; in torchvision's it keeps its size.
        window = min(model.window_size, side) if model.convention == "timm" else model.window_size
        hidden = int(dim * model.mlp_ratio)
        block = 3 * dim * (dim + model.qkv_bias) + dim * (dim + 1) + 4 * dim
        block += (2 * window - 1) ** 2 * heads + 2 * dim * hidden + hidden + dim
        merging = 2 * dim**2 + 4 * dim if stage else 0  # of four tokens of half the width
        count += depth * block + merging
        side = -(-side // 2)
    return count + 2 * dim + ((dim + 1) * model.num_classes if model.num_classes else 0)


def _cnn(model: CNNConfig) -> int:
    count = 9 * model.in_chans * model.widths[0] + 2 * model.widths[0]
    for stage, (width, blocks) in enumerate(zip(model.widths, model.blocks, strict=True)):
        before = model.widths[max(stage - 1, 0)]
        for index in range(min(blocks, MAX_LAYERS + 1)):
            incoming = width if index else before
            count += 9 * incoming * width + 9 * width * width + 4 * width
            if not model.pooled and (incoming != width or (stage and not index)):
                count += incoming * width + 2 * width
    return count + (model.widths[-1] + 1) * model.num_classes
