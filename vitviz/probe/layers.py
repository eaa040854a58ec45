"""Record every layer of any model in one form: prefix tokens and a grid of tokens or features."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.config import CNNConfig, ModelConfig, SwinConfig, ViTConfig
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import as_array

FloatArray = NDArray[np.float32]
Form = Literal["tokens", "grid", "map"]  # (B, tokens, D), (B, rows, cols, D), (B, D, rows, cols)


@dataclass(frozen=True)
class Layer:
    """A layer: its name in the record, and its title."""

    record: str
    title: str
    form: Form  # of what it records

    @property
    def said(self) -> str:
        """Title within a sentence: 'layer 6', 'the embedding'."""
        return self.title if self.title[-1].isdigit() else f"the {self.title}"


@dataclass(frozen=True, eq=False)
class LayerOutput:
    """The output of one layer for B images: prefix tokens (B, P, D), and a grid (B, rows, cols, D) of patches or
    features.
    """

    prefix: FloatArray
    places: FloatArray

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, cols)."""
        return cast(tuple[int, int], self.places.shape[1:3])

    @property
    def flat(self) -> FloatArray:
        """(B, ...): all of it in one row an image."""
        count = len(self.places)
        return np.concatenate([self.prefix.reshape(count, -1), self.places.reshape(count, -1)], axis=1)

    @property
    def mean(self) -> FloatArray:
        """(B, D): the mean over the places."""
        return np.asarray(self.places.mean(axis=(1, 2)))


@singledispatch
def list_layers(config: ModelConfig) -> tuple[Layer, ...]:
    """Return the layers of a ViT, a Swin or a CNN from the first map to the last block.

    Raises:
        TypeError: if the model is of another kind; `vitviz.models.abilities` says so beforehand (`layers`).
    """
    raise TypeError(f"needs a ViT, a Swin or a CNN, received a {type(config).__name__}")


@list_layers.register
def _(config: ViTConfig) -> tuple[Layer, ...]:
    blocks = [Layer(f"blocks.{i}", f"layer {i + 1}", "tokens") for i in range(config.depth)]
    return Layer("embedded", "embedding", "tokens"), *blocks


@list_layers.register
def _(config: SwinConfig) -> tuple[Layer, ...]:
    return Layer("patch_embed", "embedding", "grid"), *_staged(config.depths, "grid")


@list_layers.register
def _(config: CNNConfig) -> tuple[Layer, ...]:
    return Layer("stem", "stem", "map"), *_staged(config.blocks, "map")


def _staged(counts: tuple[int, ...], form: Form) -> list[Layer]:
    """Return the layers of all stages, with stage and block in their titles."""
    stages = []
    for stage, count in enumerate(counts):
        for block in range(count):
            title = f"stage {stage + 1}" + (f", block {block + 1}" if count > 1 else "")
            stages.append(Layer(f"layers.{stage}.blocks.{block}", title, form))
    return stages


def read_layer_outputs(
    model: LoadedModel, record: Mapping[str, NDArray[Any]], size: tuple[int, int]
) -> list[LayerOutput]:
    """Return the output of every layer in order of depth from a record of images of (height, width) px."""
    return [
        _make_layer_output(model, layer.form, record[layer.record], size)
        for layer in list_layers(model.config)
    ]


def stream_layer_outputs(
    model: LoadedModel, images: FloatArray, batch_size: int
) -> Iterator[list[LayerOutput]]:
    """Yield every layer's output for images (B, C, H, W), batch by batch."""
    names = tuple(layer.record for layer in list_layers(model.config))
    device = next(model.model.parameters()).device
    for start in range(0, len(images), batch_size):
        x = torch.tensor(images[start : start + batch_size], dtype=torch.float32, device=device)
        with torch.inference_mode():
            _, record = model.model(x, record=names)
        arrays = {name: as_array(record[name]) for name in names}
        yield read_layer_outputs(model, arrays, (x.shape[-2], x.shape[-1]))


def _make_layer_output(
    model: LoadedModel, form: Form, values: NDArray[Any], size: tuple[int, int]
) -> LayerOutput:
    if form == "tokens":
        layout = model.layout(*size)
        count = layout.num_prefix_tokens
        places = values[:, count:].reshape(len(values), *layout.grid, -1)
        return LayerOutput(values[:, :count], places)
    places = values if form == "grid" else values.transpose(0, 2, 3, 1)
    return LayerOutput(np.empty((len(values), 0, places.shape[-1]), np.float32), np.ascontiguousarray(places))
