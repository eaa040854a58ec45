"""Read parts of a Swin's weights, and measure seconds and bytes of global and window attention."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz import shifted_windows
from vitviz.models.swin import PatchMerging, SwinTransformer
from vitviz.pin import Pin
from vitviz.probe.capture import FloatArray, as_array
from vitviz.probe.stopwatch import measure_held_bytes, measure_seconds

HEAD_DIM = 32  # as in Swin


def position_bias_table(model: SwinTransformer, stage: int, block: int) -> FloatArray:
    """Return the table of relative position biases, (heads, (2 Mh - 1)(2 Mw - 1)); stage and block count from 0."""
    return as_array(model.block(stage, block).attn.relative_position_bias_table).T.copy()


def block_window(model: SwinTransformer, stage: int, block: int) -> tuple[int, int]:
    """Return (rows, cols) of a block's windows."""
    block_module = model.block(stage, block)
    return block_module.plan(block_module.native_grid).window


def merging_norm(model: SwinTransformer, stage: int) -> tuple[FloatArray, FloatArray, float]:
    """Return the weight, bias (4 C,) and epsilon of the LayerNorm before the merging into a stage, 1 or later."""
    merging = model.get_submodule(f"layers.{stage}.downsample")
    if not isinstance(merging, PatchMerging):
        raise ValueError(f"stage {stage} does not begin by merging")
    return as_array(merging.norm.weight), as_array(merging.norm.bias), merging.norm.eps


def patch_gradients(
    model: nn.Module, image: NDArray[np.float32], names: Sequence[str], point: tuple[float, float]
) -> NDArray[np.float64]:
    """Return |d (one output token of a block) / d patch|, summed over the patch's pixels and channels.

    The token's channels are weighted by seeded random signs, so that opposite channels do not cancel.

    Args:
        model: a frozen Swin.
        image: (C, H, W), prepared.
        names: of the blocks, such as 'layers.0.blocks.1'.
        point: (x, y) in [0, 1]: the token under it, on each block's own grid.

    Returns:
        (blocks, patches), patches in reading order.
    """
    x = torch.tensor(image[None], requires_grad=True)
    layout = model.layout(*image.shape[-2:])  # type: ignore[operator]
    (rows, cols), px = layout.grid, layout.patch_px
    out = []
    with torch.enable_grad():
        _, record = model(x, record=tuple(names))
        for name in names:
            tokens = record[name]
            row, col = Pin(point).row_col((tokens.shape[1], tokens.shape[2]))
            signs = torch.randn(tokens.shape[-1], generator=torch.Generator().manual_seed(0)).sign()
            (gradient,) = torch.autograd.grad((tokens[0, row, col] * signs).sum(), x, retain_graph=True)
            pixels = gradient[0].abs().double().sum(dim=0)[: rows * px, : cols * px]
            out.append(pixels.reshape(rows, px, cols, px).sum(dim=(1, 3)).reshape(-1).numpy())
    return np.stack(out)


@dataclass(frozen=True)
class Measurement:
    """One size: tokens per side, and (seconds, peak bytes) of global and window attention."""

    side: int
    global_s: float
    window_s: float
    global_bytes: int
    window_bytes: int


def attention_layer(dim: int) -> Callable[[Tensor], Tensor]:
    """Return softmax(Q K^T / sqrt(d)) V with its four linear maps, on (groups, tokens, dim)."""
    generator = torch.Generator().manual_seed(0)
    qkv = torch.randn(3 * dim, dim, generator=generator) / dim**0.5
    proj = torch.randn(dim, dim, generator=generator) / dim**0.5
    heads = max(1, dim // HEAD_DIM)

    def attend(x: Tensor) -> Tensor:
        groups, tokens, _ = x.shape
        q, k, v = (x @ qkv.T).view(groups, tokens, 3, heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q * (dim // heads) ** -0.5) @ k.mT
        y = scores.softmax(dim=-1) @ v
        out: Tensor = y.transpose(1, 2).reshape(groups, tokens, dim) @ proj.T
        return out

    return attend


def measure(sides: Sequence[int], dim: int, window: int, repeats: int = 3) -> list[Measurement]:
    """Measure time and memory of both forms on side x side tokens: the median after one warm-up.

    Raises:
        ValueError: if the windows do not tile a grid.
    """
    attend, rows = attention_layer(dim), []
    with torch.inference_mode():
        for side in sides:
            index = shifted_windows.partition(np.arange(side * side).reshape(side, side), (window, window))
            x = torch.randn(1, side * side, dim, generator=torch.Generator().manual_seed(1))
            inside = x[0, torch.from_numpy(index)]
            results = [
                (
                    statistics.median(measure_seconds(partial(attend, part), repeats)),
                    measure_held_bytes(partial(attend, part)),
                )
                for part in (x, inside)
            ]
            (global_s, global_bytes), (window_s, window_bytes) = results
            rows.append(Measurement(side, global_s, window_s, global_bytes, window_bytes))
    return rows
