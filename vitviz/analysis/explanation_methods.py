"""Compute explanation methods of a Vision Transformer: one relevance per patch."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, Fusion, readout_row
from vitviz.analysis.rollout import rollout


@dataclass(frozen=True)
class Method:
    """A method's name, its formula in one line and in LaTeX, and its source."""

    title: str
    line: str
    latex: str
    source: str


METHODS = {
    name: Method(**entry)
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


def method_maps(
    attn: FloatArray,
    prefix: tuple[str, ...],
    readout: str,
    *,
    fusion: Fusion = "mean",
    discard: float = 0.0,
    relevance: FloatArray | None = None,
    input_sums: FloatArray | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Return the maps of one image by method, for all methods that the inputs allow.

    Negative evidence is clipped to zero where it is shown and ranked.

    Args:
        attn: (depth, heads, query, key).
        relevance: (query, key) of the gradient-weighted rollout; None where no class is explained.
        input_sums: (patches,), gradient x input summed over each patch.

    Returns:
        name -> (patches,).
    """
    first = len(prefix)
    maps = {
        "raw": readout_row(attn[-1].mean(axis=0), prefix, readout),
        "rollout": readout_row(rollout(attn[:, None], fusion, discard, first)[0], prefix, readout),
    }
    if relevance is not None:
        # R starts as the identity: what a patch says of itself is no evidence, where a patch's row is read.
        maps["gradient"] = readout_row(relevance - np.eye(len(relevance)), prefix, readout)
    if input_sums is not None:
        maps["input"] = input_sums
    return {name: np.clip(values.astype(np.float64), 0, None) for name, values in maps.items()}
