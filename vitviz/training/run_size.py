"""Check the size of a requested run (model, snapshots, updates, time) from its config alone.

A form, a link and an archive all use these checks; the session enforces the training time.
"""

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
from vitviz.models import model_cost

MAX_PARAMETERS = 15_000_000  # 60 MB in fp32: a snapshot below `upload_limits.CHECKPOINT_BYTES`
MAX_SNAPSHOT_BYTES = 512 * 2**20  # of all snapshots of all members
MAX_LAYERS = 256
MAX_TOKENS = 4096  # attention costs their square
MAX_BATCH_VALUES = 2**27  # batch x tokens x width x layers: some 8 GB while training
MAX_WEIGHTS = 2**27  # heads x queries x keys of all layers, of one image: 512 MB when a page reads them
MAX_BATCH_WEIGHTS = 2**29  # of one layer, of a batch: 2 GB while training
MAX_STEPS = 2_000_000
MAX_TRAINING_S = 24 * 3600.0
_PICTURES = {"digits": 1_500, "shapes": 20_000}  # at least the size of the dataset; of others:
_MOST_PICTURES = 60_000


def check_run(parts: Sequence[tuple[ModelConfig, TrainConfig]]) -> None:
    """Check that a run is within the limits.

    Raises:
        ValueError: stating the requested size and the limit.
    """
    for model, train in parts:
        _check_model(model, train.batch_size)
        _check_length(model, train)
    stored = sum(parameters(model) * 4 * train.snapshots for model, train in parts)
    if stored > MAX_SNAPSHOT_BYTES:
        count = max(train.snapshots for _, train in parts)
        raise ValueError(
            f"{count} snapshots of {stored / count / 2**20:,.0f} MB are {stored / 2**20:,.0f} MB;"
            f" the limit is {MAX_SNAPSHOT_BYTES >> 20:,} MB: choose fewer snapshots or a smaller model"
        )


def _check_length(model: ModelConfig, train: TrainConfig) -> None:
    if train.epochs is not None:
        images = _PICTURES.get(train.dataset, _MOST_PICTURES) * train.train_fraction
        if train.a_class is not None:
            images = min(images, train.a_class * model.num_classes)
        steps = ceil(train.epochs * images / train.batch_size)
        if steps > MAX_STEPS:
            raise ValueError(
                f"{train.epochs:g} epochs of up to {images:,.0f} images in batches of {train.batch_size} are"
                f" {steps:,} updates; the limit is {MAX_STEPS:,}: choose fewer epochs or larger batches"
            )
    elif train.seconds is not None and train.seconds > MAX_TRAINING_S:
        raise ValueError(
            f"a run may train for at most {MAX_TRAINING_S / 3600:g} hours, received {train.seconds / 3600:,.1f}"
        )


def _check_model(model: ModelConfig, batch: int) -> None:
    size = _extent(model)
    if size.layers > MAX_LAYERS:
        raise ValueError(f"this model has {size.layers:,} layers; the limit is {MAX_LAYERS}")
    count = parameters(model)
    if count > MAX_PARAMETERS:
        raise ValueError(
            f"this model has {count:,} parameters; the limit is {MAX_PARAMETERS:,}: reduce its width or depth"
        )
    if size.compared > MAX_TOKENS:
        raise ValueError(
            f"this model attends over {size.compared:,} tokens; the limit is {MAX_TOKENS:,}:"
            " choose larger patches, smaller windows or smaller images"
        )
    values = batch * size.cells * size.width * size.layers
    if values > MAX_BATCH_VALUES:
        raise ValueError(
            f"a batch of {batch:,} images of {size.cells:,} tokens of width {size.width:,} in {size.layers:,} layers"
            f" are {values:,} values; the limit is {MAX_BATCH_VALUES:,}: choose smaller batches or a smaller model"
        )
    weights = size.heads * size.cells * size.compared  # of a layer
    if size.layers * weights > MAX_WEIGHTS:
        raise ValueError(
            f"{size.layers} layers of {size.heads} heads over {size.cells:,} tokens have {size.layers * weights:,}"
            f" attention weights; the limit is {MAX_WEIGHTS:,}: choose larger patches, fewer heads or layers"
        )
    if batch * weights > MAX_BATCH_WEIGHTS:
        raise ValueError(
            f"a batch of {batch:,} images has {batch * weights:,} attention weights in a layer; the"
            f" limit is {MAX_BATCH_WEIGHTS:,}: choose smaller batches, larger patches or fewer heads"
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
    raise ValueError(f"a {type(model).__name__} cannot be trained")


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
    """Return the number of parameters of a model, without building it."""
    return sum(model_cost.parameters(model).values())
