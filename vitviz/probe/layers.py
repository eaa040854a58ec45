"""Record every layer of any model in one form, one block of a ViT by its parts, and the features of the head."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.block import BlockForm, add_branch_outputs
from vitviz.config import CNNConfig, ModelConfig, SwinConfig, ViTConfig
from vitviz.devices import make_input
from vitviz.models.layers import Block, LayerScale
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.vit import VisionTransformer
from vitviz.probe.capture import Capture, FloatArray, as_array

Form = Literal["tokens", "grid", "map"]  # (B, tokens, D), (B, rows, cols, D), (B, D, rows, cols)
Record = dict[str, NDArray[Any]]  # short name -> (tokens, …)
Gain = NDArray[Any] | float
PARTS = (
    *("input", "norm1", "q", "k", "v", "scores", "attn", "heads"),
    *("attn_out", "mid", "norm2", "mlp_hidden", "mlp_out"),
)
BATCH = 256


@dataclass(frozen=True)
class RecordedLayer:
    """A layer: its name in the record, and its title."""

    record: str
    title: str
    form: Form  # of what it records

    @property
    def phrase(self) -> str:
        """Return the title as a sentence names it: 'layer 6', 'the embedding'."""
        return self.title if self.title[-1].isdigit() else f"the {self.title}"

    def write_call(self) -> str:
        """Return the Python call that gives this layer's output."""
        return write_call(self.record)


def write_call(record: str) -> str:
    """Return the Python call that gives an intermediate of a model, by its name in the record."""
    return f'_, records = model.model(pixels, record=("{record}",))'


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
def list_layers(config: ModelConfig) -> tuple[RecordedLayer, ...]:
    """Return the layers of a ViT, a Swin or a CNN from the first map to the last block.

    Raises:
        TypeError: if the model is of another kind; `vitviz.models.abilities` says so beforehand (`layers`).
    """
    raise TypeError(f"needs a ViT, a Swin or a CNN, received a {type(config).__name__}")


@list_layers.register
def _(config: ViTConfig) -> tuple[RecordedLayer, ...]:
    blocks = [RecordedLayer(f"blocks.{i}", f"layer {i + 1}", "tokens") for i in range(config.depth)]
    return RecordedLayer("embedded", "embedding", "tokens"), *blocks


@list_layers.register
def _(config: SwinConfig) -> tuple[RecordedLayer, ...]:
    return RecordedLayer("patch_embed", "embedding", "grid"), *_staged(config.depths, "grid")


@list_layers.register
def _(config: CNNConfig) -> tuple[RecordedLayer, ...]:
    return RecordedLayer("stem", "stem", "map"), *_staged(config.blocks, "map")


def _staged(counts: tuple[int, ...], form: Form) -> list[RecordedLayer]:
    """Return the layers of all stages, with stage and block in their titles."""
    stages = []
    for stage, count in enumerate(counts):
        for block in range(count):
            title = f"stage {stage + 1}" + (f", block {block + 1}" if count > 1 else "")
            stages.append(RecordedLayer(f"layers.{stage}.blocks.{block}", title, form))
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
    for start in range(0, len(images), batch_size):
        x = make_input(model.model, images[start : start + batch_size])
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


def patterns_of(layer: int) -> tuple[str, str]:
    """Return the names that a capture must record for a block, counted from 1."""
    name = f"blocks.{layer - 1}"
    return f"{name}.*", name


def block_record(model: VisionTransformer, records: Capture, layer: int) -> Record:
    """Return a block's intermediates of the first image, by short name, with what each branch adds to the stream.

    Args:
        records: recorded with `patterns_of(layer)`.
        layer: from 1.
    """
    name = f"blocks.{layer - 1}"
    record = {part: records[f"{name}.{part}"][0] for part in PARTS} | {"output": records[name][0]}
    return add_branch_outputs(record, *gains(model.block(layer - 1)))


def gains(block: Block) -> tuple[Gain, Gain]:
    """Return the LayerScale (D,) of a block's two branches, 1 without LayerScale."""
    attention, mlp = (
        as_array(scale.gamma) if isinstance(scale, LayerScale) else 1.0 for scale in (block.ls1, block.ls2)
    )
    return attention, mlp


def block_form(model: VisionTransformer, layer: int) -> BlockForm:
    """Return the form of a block's norms, scale and projections; blocks count from 1."""
    config = model.config
    return BlockForm(
        scale=model.block(layer - 1).attn.scale,
        pre_norm=config.norm == "pre",
        qkv_bias=config.qkv_bias,
        slices=config.head_input != "all",
        projects=config.output_projection,
        layer_scale=config.layer_scale is not None,
        gated=config.gated_mlp,
    )


@torch.inference_mode()
def extract_features(model: nn.Module, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the features (N, D) that a model's head reads: [CLS], the mean of the patches, a CNN's pooled map.

    Args:
        model: with a linear `head`; of a DeiT what its first head reads.
        inputs: (N, C, S, S), prepared for it.
    """
    body = strip_head(model)
    parts = [body(torch.from_numpy(inputs[at : at + BATCH])) for at in range(0, len(inputs), BATCH)]
    features: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return features


def strip_head(model: nn.Module) -> nn.Module:
    """Return a copy, for inference, whose outputs are the features that the model's head reads."""
    body = copy.copy(model)
    body._modules = {**model._modules, "head": _headless(model.get_submodule("head"))}
    if "head_dist" in body._modules:
        body._modules["head_dist"] = None
    body.training = False
    return body


@torch.inference_mode()
def patch_means(model: VisionTransformer, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean (N, D) of a ViT's patches after its last norm, whatever its head reads.

    Args:
        inputs: (N, C, S, S), prepared for it.
    """
    prefix = len(model.config.prefix_tokens)
    model.eval()
    parts = []
    for at in range(0, len(inputs), BATCH):
        _, records = model(torch.from_numpy(inputs[at : at + BATCH]), record=("norm",))
        parts.append(records["norm"][:, prefix:].mean(dim=1))
    means: NDArray[np.float32] = torch.cat(parts).float().numpy()
    return means


def _headless(head: nn.Module) -> nn.Module:
    """Return a head without its last linear map; a Swin's pools first."""
    if isinstance(head, nn.Linear | nn.Identity):
        return nn.Identity()
    pooling = copy.copy(head)
    pooling._modules = {**head._modules, "fc": nn.Identity()}
    return pooling
