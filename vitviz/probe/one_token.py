"""Record the attention of the lecture's flat net (recipe E), and the effect of its queries and keys."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from vitviz.models.lecture_nets import FlatAttention, FlatAttentionLayer

LARGER = 100.0  # times its own queries and keys: any attention that they made would change


@dataclass(frozen=True, eq=False)
class OneToken:
    """The intermediates of one image.

    Attributes:
        attention: (layers, tokens, tokens), as the softmax gave it.
        scores: (layers,), what the softmax read.
        changed: the largest change of a logit when queries and keys become `LARGER` times as long.
        idle: parameters of the maps to queries and keys.
    """

    attention: NDArray[np.float32]
    scores: NDArray[np.float32]
    changed: float
    idle: int
    parameters: int


@torch.inference_mode()
def record_one_token(model: FlatAttention, values: NDArray[np.float32]) -> OneToken:
    """Run the net on an image (C, S, S), with its own and with scaled queries and keys."""
    x = torch.from_numpy(values)[None]
    names = tuple(f"blocks.{layer}.{part}" for layer in range(2) for part in ("attn", "scores"))
    logits, record = model(x, record=names)
    other = FlatAttention(model.config).eval()
    other.load_state_dict(model.state_dict())
    idle = 0
    for layer in other.blocks:
        assert isinstance(layer, FlatAttentionLayer)
        width = layer.qkv.in_features
        layer.qkv.weight[: 2 * width] *= LARGER
        layer.qkv.bias[: 2 * width] *= -LARGER
        idle += 2 * width * (width + 1)
    changed = float((other(x) - logits).abs().max())
    attention = np.stack([record[f"blocks.{layer}.attn"][0, 0].numpy() for layer in range(2)])
    scores = np.array(
        [float(record[f"blocks.{layer}.scores"].flatten()[0]) for layer in range(2)], np.float32
    )
    return OneToken(attention, scores, changed, idle, sum(p.numel() for p in model.parameters()))
