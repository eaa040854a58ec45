"""What opening a part reads: the scene, a patch and E, and the tokens before and after the last norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.journey import Journey, Part, Tokens
from vitviz.analysis.opened_part import Opened, Operation, Table, name_of
from vitviz.analysis.part_request import Asked
from vitviz.models.abilities import abilities, as_swin, as_vit
from vitviz.models.hybrid import ConvStem
from vitviz.models.loaded_model import LoadedModel
from vitviz.pin import Pin
from vitviz.probe.capture import as_array, capture
from vitviz.probe.journey import stem_levels

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scene:
    """What opening a part reads: the model, the picture's values, its whole way, and what was asked."""

    model: LoadedModel
    values: FloatArray
    way: Journey
    part: Part
    asked: Asked

    @property
    def tokens(self) -> Tokens:
        """Those that leave the part; the first sequence's where none do."""
        return self.part.tokens or self.way.sequence

    @property
    def token(self) -> int:
        """The pinned token among them."""
        return token_of(self.tokens, self.asked.pin)

    @property
    def cell(self) -> int:
        """The pinned cell of their grid; a prefix token has none, so the middle stands for it."""
        return self.asked.pin.cell(self.tokens.grid)


def token_of(tokens: Tokens, pin: Pin) -> int:
    """Index of a pin's token in a sequence."""
    if pin.prefix in tokens.prefix:
        return tokens.prefix.index(pin.prefix)
    return len(tokens.prefix) + pin.cell(tokens.grid)


def opened_of(
    scene: Scene, token: int, operations: list[Operation], tables: list[Table], **chosen: int | None
) -> Opened:
    """A part's operations and tables, with the token that they are about."""
    name = name_of(scene.tokens, token)
    return Opened(scene.part.id, token, name, tuple(operations), tuple(tables), **chosen)


@dataclass(frozen=True, eq=False)
class EmbeddingOfPatch:
    """x (C, h, w) of one place, E's columns (D, C, h, w), bias (D,), x E + b, and its LayerNorm where one follows."""

    x: FloatArray
    weight: FloatArray
    bias: FloatArray
    linear: FloatArray
    normed: FloatArray | None


def embedding_of(model: LoadedModel, values: FloatArray, cell: int) -> EmbeddingOfPatch:
    """What E multiplies at one cell of the grid, and what it gives there.

    Args:
        model: a ViT, a hybrid or a Swin.
        values: (C, S, S), prepared.
        cell: in reading order.
    """
    embed = model.model.get_submodule("patch_embed")
    proj = cast(nn.Conv2d, embed.get_submodule("proj"))
    weight = as_array(proj.weight)
    bias = np.zeros(len(weight), np.float32) if proj.bias is None else as_array(proj.bias)
    if isinstance(embed, ConvStem):
        maps = stem_levels(embed, values)[-1].maps
        row, col = divmod(cell, maps.shape[2])
        x = maps[:, row : row + 1, col : col + 1]
    else:
        px = weight.shape[-1]
        row, col = divmod(cell, model.layout(*values.shape[-2:]).grid[1])
        x = values[:, row * px : (row + 1) * px, col * px : (col + 1) * px]
    made = capture(model.model, values[None], ("patch_embed",))["patch_embed"][0]
    token = made.reshape(-1, made.shape[-1])[cell]
    linear = np.einsum("chw,dchw->d", x, weight) + bias
    return EmbeddingOfPatch(x, weight, bias, linear, token if abilities(model.config).windows else None)


def last_tokens(model: LoadedModel, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, D) each: the tokens that leave the last layer, and what the last LayerNorm makes of them."""
    able = abilities(model.config)
    if able.windows:
        depths = as_swin(model.config).depths
        name = f"layers.{len(depths) - 1}.blocks.{depths[-1] - 1}"
    else:
        name = f"blocks.{as_vit(model.config).depth - 1}"
    found = capture(model.model, values[None], (name, "norm"))
    before, after = found[name][0], found["norm"][0]
    return before.reshape(-1, before.shape[-1]), after.reshape(-1, after.shape[-1])
