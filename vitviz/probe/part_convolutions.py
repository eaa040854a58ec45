"""Open convolutions: one value of a feature map as a sum over its receptive field, and all feature maps."""

from typing import cast

import numpy as np
import torch
from torch import nn

from vitviz.analysis.forward_pass import FeatureMaps, Part, Tokens, select_varied_channels
from vitviz.analysis.opened_part import (
    OpenedPart,
    Operation,
    Table,
    build_bars,
    build_maps,
    build_product,
    build_table,
    name_token,
)
from vitviz.models.layers import ConvStem
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.capture import FloatArray, as_array
from vitviz.probe.part_inputs import PartContext
from vitviz.text import signed

SHOWN = 12


def open_stem(context: PartContext) -> OpenedPart:
    """Open the first convolution of a hybrid or CNN at the pinned position: filter, BatchNorm, ReLU.

    Without a requested output channel it is the strongest at this position.
    """
    part = context.part
    assert isinstance(part.content, FeatureMaps)
    stem, source = _find_first_layers(context.model, context.values)
    convolution, batch = cast(nn.Conv2d, stem[0]), cast(nn.BatchNorm2d, stem[1])
    first = part.content.levels[0].maps
    row, col = context.request.pin.row_col((first.shape[1], first.shape[2]))
    chosen = _select_channel(first[:, row, col], context.request.channel)
    x = extract_neighbourhood(source, row, col, convolution)
    weights = as_array(convolution.weight)[chosen]
    operations = [
        build_product(f"Filter {chosen + 1} at this position", x, weights, 0.0, chosen, "Σ x ⊙ w"),
        _build_batchnorm(float((x * weights).sum()), batch, chosen, float(first[chosen, row, col])),
    ]
    operations += [_build_level(level.title, level.maps) for level in part.content.levels]
    columns = {"x": x.reshape(-1), "w": weights.reshape(-1), "x w": (x * weights).reshape(-1)}
    table = build_table(f"Filter {chosen + 1}", f"filter_{chosen}_from_0.csv", columns)
    return _build_opened(part, (row, col), first.shape, operations, table, chosen)


def open_level(context: PartContext) -> OpenedPart:
    """Open a CNN's stage: one value of its first convolution by input map, and the output maps."""
    part, earlier = context.part, context.journey.parts[context.journey.parts.index(context.part) - 1].content
    assert isinstance(part.content, FeatureMaps) and isinstance(earlier, FeatureMaps)
    before = earlier.levels[-1].maps
    stage = int(part.id.partition(".")[2]) - 1
    block = context.model.model.get_submodule(f"layers.{stage}.blocks.0")
    convolution = cast(nn.Conv2d, block.get_submodule("conv1"))
    with torch.inference_mode():
        output = as_array(convolution(torch.tensor(before)[None])[0])
    row, col = context.request.pin.row_col((output.shape[1], output.shape[2]))
    chosen = _select_channel(output[:, row, col], context.request.channel)
    products = extract_neighbourhood(before, row, col, convolution) * as_array(convolution.weight)[chosen]
    shares = products.sum(axis=(1, 2))
    name = f"One value of feature map {chosen + 1}, before BatchNorm"
    operations = [
        build_bars(name, "Σ over feature maps of Σ x ⊙ w", shares, lambda i: f"map {i + 1}", 0.0),
        _build_level("Input feature maps", before),
        *(_build_level(f"Output of {level.title.lower()}", level.maps) for level in part.content.levels),
    ]
    table = build_table(name, f"map_{chosen}_from_0.csv", {"share": shares})
    return _build_opened(part, (row, col), output.shape, operations, table, chosen)


def _build_opened(
    part: Part,
    place: tuple[int, int],
    shape: tuple[int, ...],
    operations: list[Operation],
    table: Table,
    channel: int,
) -> OpenedPart:
    cell = place[0] * shape[2] + place[1]
    name = name_token(Tokens((), (shape[1], shape[2]), 1), cell).replace("patch", "position")
    return OpenedPart(part.id, cell, name, tuple(operations), (table,), channel=channel)


def extract_neighbourhood(maps: FloatArray, row: int, col: int, convolution: nn.Conv2d) -> FloatArray:
    """Return the input (C, k, k) of one output value of a convolution, zero-padded at the edge."""
    side, stride, edge = convolution.kernel_size[0], convolution.stride[0], cast(int, convolution.padding[0])
    padded = np.pad(maps, ((0, 0), (edge, edge), (edge, edge)))
    top, left = row * stride, col * stride
    return padded[:, top : top + side, left : left + side]


def _find_first_layers(model: LoadedModel, values: FloatArray) -> tuple[nn.Sequential, FloatArray]:
    hybrid = getattr(model.model, "patch_embed", None)
    if isinstance(hybrid, ConvStem):
        with torch.inference_mode():
            return hybrid.stem, as_array(hybrid.enlarged(torch.tensor(values)[None])[0])
    return cast(nn.Sequential, model.model.get_submodule("stem")), values


def _select_channel(values: FloatArray, channel: int | None) -> int:
    return channel if channel is not None and channel < len(values) else int(np.abs(values).argmax())


def _build_batchnorm(total: float, batch: nn.BatchNorm2d, channel: int, output: float) -> Operation:
    mean, variance = (as_array(getattr(batch, f"running_{name}"))[channel] for name in ("mean", "var"))
    gain, shift = as_array(batch.weight)[channel], as_array(batch.bias)[channel]
    normed = float(gain * (total - mean) / np.sqrt(variance + batch.eps) + shift)
    numbers = f"{signed(total, 3)} becomes {signed(normed, 3)}; after ReLU {signed(output, 3)}"
    values = np.array([[total, normed, max(normed, 0.0)]], np.float32)
    return Operation(
        "vector",
        "BatchNorm and ReLU",
        "max(0, γ (s − μ) / √(σ² + ε) + β)",
        numbers,
        values,
        ("sum, normalised, after ReLU",),
    )


def _build_level(title: str, values: FloatArray) -> Operation:
    channels = select_varied_channels(values, SHOWN)
    _, rows, cols = values.shape
    numbers = f"{len(channels)} of {len(values)} feature maps ({rows} × {cols}), by variance"
    return build_maps(title, "", numbers, values[channels], [f"map {i + 1}" for i in channels], False)
