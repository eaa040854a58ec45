"""Collect the inputs of opened parts: context, patch embedding, and tokens around the final LayerNorm."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from torch import nn

from vitviz.analysis.forward_pass import Journey, Part, Tokens
from vitviz.analysis.opened_part import OpenedPart, Operation, PartRequest, Table, name_token
from vitviz.models.abilities import abilities, as_swin, as_vit
from vitviz.models.layers import ConvStem
from vitviz.models.loaded_model import LoadedModel
from vitviz.pin import Pin
from vitviz.probe.capture import FloatArray, as_array, capture
from vitviz.probe.forward_pass import compute_stem_levels


@dataclass(frozen=True, eq=False)
class PartContext:
    """Inputs for opening a part: model, image values, recorded forward pass and request."""

    model: LoadedModel
    values: FloatArray
    journey: Journey
    part: Part
    request: PartRequest

    @property
    def tokens(self) -> Tokens:
        """Token layout of the part's output; the first sequence's if it outputs no tokens."""
        return self.part.tokens or self.journey.sequence

    @property
    def token(self) -> int:
        return find_token(self.tokens, self.request.pin)

    @property
    def cell(self) -> int:
        """Index of the pinned grid cell; the middle cell for a pinned prefix token."""
        return self.request.pin.cell(self.tokens.grid)


def find_token(tokens: Tokens, pin: Pin) -> int:
    """Return the index of a pin's token in a sequence."""
    if pin.prefix in tokens.prefix:
        return tokens.prefix.index(pin.prefix)
    return len(tokens.prefix) + pin.cell(tokens.grid)


def build_opened_part(
    context: PartContext, token: int, operations: list[Operation], tables: list[Table], **chosen: int | None
) -> OpenedPart:
    """Build an opened part with the name of its token."""
    name = name_token(context.tokens, token)
    return OpenedPart(context.part.id, token, name, tuple(operations), tuple(tables), **chosen)


@dataclass(frozen=True, eq=False)
class PatchEmbedding:
    """Embedding of one patch: x (C, h, w), E (D, C, h, w), bias (D,), x E + b, and its LayerNorm output or None."""

    x: FloatArray
    weight: FloatArray
    bias: FloatArray
    linear: FloatArray
    normed: FloatArray | None


def compute_embedding(model: LoadedModel, values: FloatArray, cell: int) -> PatchEmbedding:
    """Compute the patch embedding at one cell of the grid.

    Args:
        model: a ViT, a hybrid or a Swin.
        values: (C, S, S), preprocessed.
        cell: index in reading order.
    """
    embed = model.model.get_submodule("patch_embed")
    proj = cast(nn.Conv2d, embed.get_submodule("proj"))
    weight = as_array(proj.weight)
    bias = np.zeros(len(weight), np.float32) if proj.bias is None else as_array(proj.bias)
    if isinstance(embed, ConvStem):
        maps = compute_stem_levels(embed, values)[-1].maps
        row, col = divmod(cell, maps.shape[2])
        x = maps[:, row : row + 1, col : col + 1]
    else:
        px = weight.shape[-1]
        row, col = divmod(cell, model.layout(*values.shape[-2:]).grid[1])
        x = values[:, row * px : (row + 1) * px, col * px : (col + 1) * px]
    tokens = capture(model.model, values[None], ("patch_embed",))["patch_embed"][0]
    token = tokens.reshape(-1, tokens.shape[-1])[cell]
    linear = np.einsum("chw,dchw->d", x, weight) + bias
    return PatchEmbedding(x, weight, bias, linear, token if abilities(model.config).windows else None)


def capture_last_tokens(model: LoadedModel, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the tokens (n, D) before and after the final LayerNorm."""
    able = abilities(model.config)
    if able.windows:
        depths = as_swin(model.config).depths
        name = f"layers.{len(depths) - 1}.blocks.{depths[-1] - 1}"
    else:
        name = f"blocks.{as_vit(model.config).depth - 1}"
    records = capture(model.model, values[None], (name, "norm"))
    before, after = records[name][0], records["norm"][0]
    return before.reshape(-1, before.shape[-1]), after.reshape(-1, after.shape[-1])
