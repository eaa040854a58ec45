"""Convolutions opened: one value of one map as a sum over its neighbourhood, and the maps beside it."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vitviz.analysis.journey import Maps, Part, Tokens, most_varied
from vitviz.analysis.opened_part import Opened, Operation, bars, maps, name_of, product, table
from vitviz.models.hybrid import ConvStem
from vitviz.models.loaded_model import LoadedModel
from vitviz.pin import Pin
from vitviz.probe.capture import as_array
from vitviz.text import signed

FloatArray = NDArray[np.float32]
SHOWN = 12


def open_stem(model: LoadedModel, values: FloatArray, part: Part, pin: Pin, channel: int | None) -> Opened:
    """The first convolution of a hybrid or a CNN at the pinned place: kernel times neighbourhood, norm, ReLU.

    Args:
        channel: of the maps that it leaves; None, or one that is not there: the strongest at this place.
    """
    assert isinstance(part.content, Maps)
    stem, read = _first_layers(model, values)
    convolution, batch = cast(nn.Conv2d, stem[0]), cast(nn.BatchNorm2d, stem[1])
    first = part.content.levels[0].maps
    row, col = pin.row_col((first.shape[1], first.shape[2]))
    chosen = _channel(first[:, row, col], channel)
    x = neighbourhood(read, row, col, convolution)
    weights = as_array(convolution.weight)[chosen]
    operations = [
        product(f"Filter {chosen + 1} on its neighbourhood", x, weights, 0.0, chosen, "Σ x ⊙ w"),
        _normed_and_cut(float((x * weights).sum()), batch, chosen, float(first[chosen, row, col])),
    ]
    operations += [_maps_of(level.title, level.maps) for level in part.content.levels]
    columns = {"x": x.reshape(-1), "w": weights.reshape(-1), "x w": (x * weights).reshape(-1)}
    tables = (table(f"Filter {chosen + 1}", f"filter_{chosen + 1}.csv", columns),)
    place = Tokens((), (first.shape[1], first.shape[2]), 1)
    cell = row * first.shape[2] + col
    return Opened(part.id, cell, place_name(place, cell), tuple(operations), tables, channel=chosen)


def open_level(model: LoadedModel, before: FloatArray, part: Part, pin: Pin, channel: int | None) -> Opened:
    """A CNN's stage: one value of its first convolution by the maps that it is made of, and the maps that leave.

    Args:
        before: (channels, h, w), the maps that enter the stage.
    """
    assert isinstance(part.content, Maps)
    stage = int(part.id.partition(".")[2]) - 1
    block = model.model.get_submodule(f"layers.{stage}.blocks.0")
    convolution = cast(nn.Conv2d, block.get_submodule("conv1"))
    with torch.inference_mode():
        made = as_array(convolution(torch.tensor(before)[None])[0])
    row, col = pin.row_col((made.shape[1], made.shape[2]))
    chosen = _channel(made[:, row, col], channel)
    each = neighbourhood(before, row, col, convolution) * as_array(convolution.weight)[chosen]
    shares = each.sum(axis=(1, 2))
    name = f"One value of map {chosen + 1}, before its norm"
    operations = [
        bars(name, "Σ over the maps of Σ x ⊙ w", shares, lambda i: f"map {i + 1}", 0.0),
        _maps_of("The maps that enter", before),
        *(
            _maps_of(f"The maps that leave {level.title.lower()}", level.maps)
            for level in part.content.levels
        ),
    ]
    tables = (table(name, f"map_{chosen + 1}.csv", {"share": shares}),)
    place = Tokens((), (made.shape[1], made.shape[2]), 1)
    cell = row * made.shape[2] + col
    return Opened(part.id, cell, place_name(place, cell), tuple(operations), tables, channel=chosen)


def place_name(place: Tokens, cell: int) -> str:
    """'the place in row 3, column 5'."""
    return name_of(place, cell).replace("patch", "place")


def neighbourhood(maps: FloatArray, row: int, col: int, convolution: nn.Conv2d) -> FloatArray:
    """(C, k, k): what a convolution reads for one value of its output, zeros beyond the edge."""
    side, stride, edge = convolution.kernel_size[0], convolution.stride[0], cast(int, convolution.padding[0])
    padded = np.pad(maps, ((0, 0), (edge, edge), (edge, edge)))
    top, left = row * stride, col * stride
    return padded[:, top : top + side, left : left + side]


def _first_layers(model: LoadedModel, values: FloatArray) -> tuple[nn.Sequential, FloatArray]:
    """The stem's layers, and the picture as the first of them reads it."""
    hybrid = getattr(model.model, "patch_embed", None)
    if isinstance(hybrid, ConvStem):
        with torch.inference_mode():
            return hybrid.stem, as_array(hybrid.enlarged(torch.tensor(values)[None])[0])
    return cast(nn.Sequential, model.model.get_submodule("stem")), values


def _channel(values: FloatArray, asked: int | None) -> int:
    return asked if asked is not None and asked < len(values) else int(np.abs(values).argmax())


def _normed_and_cut(total: float, batch: nn.BatchNorm2d, channel: int, result: float) -> Operation:
    """BatchNorm with the training's own mean and variance, then ReLU."""
    mean, variance = (as_array(getattr(batch, f"running_{name}"))[channel] for name in ("mean", "var"))
    gain, shift = as_array(batch.weight)[channel], as_array(batch.bias)[channel]
    normed = float(gain * (total - mean) / np.sqrt(variance + batch.eps) + shift)
    numbers = f"{signed(total, 3)} becomes {signed(normed, 3)}, and ReLU leaves {signed(result, 3)}"
    values = np.array([[total, normed, max(normed, 0.0)]], np.float32)
    return Operation(
        "vector",
        "BatchNorm and ReLU",
        "max(0, γ (s − μ) / √(σ² + ε) + β)",
        numbers,
        values,
        ("sum, normed, cut",),
    )


def _maps_of(title: str, values: FloatArray) -> Operation:
    channels = most_varied(values, SHOWN)
    numbers = f"{len(channels)} of {len(values)} maps, the most varied; {values.shape[1]} × {values.shape[2]} places"
    return maps(title, "", numbers, values[channels], [f"map {i + 1}" for i in channels], False)
