"""Compute explanation methods of a Vision Transformer, such as attention rollout: one relevance per patch."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, Fusion, fuse_heads, readout_row


@dataclass(frozen=True)
class ExplanationMethod:
    """A method's name, its formula in one line and in LaTeX, and its source."""

    title: str
    line: str
    latex: str
    source: str


METHODS = {
    name: ExplanationMethod(**entry)
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


def method_maps(
    attn: FloatArray,
    prefix: tuple[str, ...],
    readout: str,
    *,
    fusion: Fusion = "mean",
    discard: float = 0.0,
    from_layer: int = 0,
    relevance: FloatArray | None = None,
    sensitivity: FloatArray | None = None,
    token_relevance: FloatArray | None = None,
    input_sums: FloatArray | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return the maps of one image by method, for all methods that the inputs allow.

    Negative evidence is clipped to zero where it is shown and ranked.

    Args:
        attn: (depth, heads, query, key).
        from_layer: the first layer of rollout.
        relevance: (query, key) of the gradient-weighted rollout; None where no class is explained.
        sensitivity: (keys,) of LeGrad, before its scale.
        token_relevance: (tokens,) of AttnLRP.
        input_sums: (patches,), gradient x input summed over each patch.

    Returns:
        name -> (patches,).
    """
    first = len(prefix)
    maps = {
        "raw": readout_row(attn[-1].mean(axis=0), prefix, readout),
        "rollout": readout_row(rollout(attn[from_layer:, None], fusion, discard, first)[0], prefix, readout),
    }
    if relevance is not None:
        # R starts as the identity: what a patch says of itself is no evidence, where a patch's row is read.
        maps["gradient"] = readout_row(relevance - np.eye(len(relevance)), prefix, readout)
    if sensitivity is not None:
        patches = sensitivity[first:].astype(np.float64)
        maps["legrad"] = (patches - patches.min()) / (np.ptp(patches) or 1.0)
    if token_relevance is not None:
        maps["attnlrp"] = token_relevance[first:]
    if input_sums is not None:
        maps["input"] = input_sums
    return {name: np.clip(values.astype(np.float64), 0, None) for name, values in maps.items()}


def compute_top_share(values: FloatArray) -> float:
    """Return the share of a map's sum on its five strongest patches."""
    total = float(values.sum())
    return float(np.sort(values)[-5:].sum() / total) if total else 0.0


def discard_lowest(fused: FloatArray, ratio: float, num_prefix_tokens: int) -> FloatArray:
    """Set the lowest `ratio` of each image's weights to zero; the prefix tokens' columns are kept in every row.

    Args:
        fused: (..., query, key).
        ratio: share of an image's query-key pairs, in [0, 1).

    Raises:
        ValueError: if the ratio lies outside [0, 1).
    """
    if not 0 <= ratio < 1:
        raise ValueError(f"discard must lie in [0, 1), received {ratio!r}")
    patches = fused[..., num_prefix_tokens:]
    count = int(ratio * patches.shape[-2] * patches.shape[-1])
    if count == 0:
        return fused
    flat = patches.reshape(*patches.shape[:-2], -1).copy()
    lowest = np.argpartition(flat, count - 1, axis=-1)[..., :count]
    np.put_along_axis(flat, lowest, 0, axis=-1)
    return np.concatenate([fused[..., :num_prefix_tokens], flat.reshape(patches.shape)], axis=-1)


def rollout(
    attn: FloatArray,
    fusion: Fusion = "mean",
    discard: float = 0.0,
    num_prefix_tokens: int = 1,
) -> NDArray[np.float64]:
    """Return how much of every input token reaches every token of the last layer (Abnar and Zuidema 2020).

    A~ = 0.5 fuse_h(A) + 0.5 I with rows that sum to 1, R = A~_L ... A~_1. Where the fusion or the discard leaves
    rows that do not sum to 1, rows are divided by their own sums.

    Args:
        attn: (depth, B, heads, query, key), first layer first.
        discard: share of the lowest weights dropped in every layer and image; prefix columns are kept.

    Returns:
        (B, query, key); every row sums to 1.

    Raises:
        ValueError: if the fusion or the discard is unknown.
    """
    eye = np.eye(attn.shape[-1])
    flow: NDArray[Any] | None = None
    for layer in attn:
        fused = discard_lowest(fuse_heads(layer.astype(np.float64), fusion), discard, num_prefix_tokens)
        step = 0.5 * fused + 0.5 * eye
        step /= step.sum(axis=-1, keepdims=True)
        flow = step if flow is None else step @ flow
    if flow is None:
        raise ValueError("attn must hold at least one layer, received none")
    return flow
