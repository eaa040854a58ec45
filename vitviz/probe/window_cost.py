"""Measure seconds and bytes of global and windowed attention on this machine."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from vitviz import shifted_windows
from vitviz.probe.stopwatch import measure_held_bytes, measure_seconds

HEAD_DIM = 32  # as in Swin


@dataclass(frozen=True)
class Measurement:
    """One size: tokens per side, and (seconds, peak bytes) of global and windowed attention."""

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
