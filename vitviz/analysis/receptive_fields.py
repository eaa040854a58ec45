"""Compute receptive fields over depth from kernels and strides."""

from __future__ import annotations

from collections.abc import Sequence

from vitviz.config import CNNConfig


def receptive_fields_px(layers: Sequence[tuple[int, int]]) -> list[int]:
    """Return r_l = r_(l-1) + (k_l - 1) * j_(l-1), j_l = j_(l-1) * s_l: the side of a receptive field, in pixels.

    Args:
        layers: (kernel, stride) of each convolution or pooling, first to last.
    """
    side, jump, out = 1, 1, []
    for kernel, stride in layers:
        side += (kernel - 1) * jump
        jump *= stride
        out.append(side)
    return out


def cnn_layers(config: CNNConfig) -> tuple[list[str], list[int]]:
    """Return the recorded layers of a CNN and the side of each one's receptive field, in pixels."""
    names, convolutions, ends = ["stem"], [(3, 1)], [1]
    for stage, count in enumerate(config.blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            first = [(3, 1), (stride, stride)] if config.pooled else [(3, stride)]
            convolutions += [*first, (3, 1)]
            names.append(f"layers.{stage}.blocks.{block}")
            ends.append(len(convolutions))
    sides = receptive_fields_px(convolutions)
    return names, [sides[end - 1] for end in ends]
