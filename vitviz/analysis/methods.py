"""Compute explanation methods of a Vision Transformer: one relevance per patch."""

from __future__ import annotations

from dataclasses import dataclass

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
    "raw": Method(
        "Raw attention",
        "mean over heads of A_L[readout, ·]",
        r"r = \tfrac1H\sum_h A^{(L,h)}_{\text{readout},\,\cdot}",
        "Last layer, as Caron et al. 2021 show it",
    ),
    "rollout": Method(
        "Rollout",
        "Π over layers of ½ A + ½ I",
        r"R=\tilde A_L\cdots\tilde A_1,\quad \tilde A_l=\tfrac12\,\mathrm{fuse}_h A^{(l,h)}+\tfrac12 I",
        "Abnar and Zuidema 2020",
    ),
    "gradient": Method(
        "Gradient-weighted rollout",
        "R ← R + mean over heads of (∇A ⊙ A)⁺ R",
        r"R\leftarrow R+\bar A_l R,\quad \bar A_l=\tfrac1H\sum_h\bigl(\nabla A^{(l,h)}\odot A^{(l,h)}\bigr)^{+},"
        r"\quad \nabla A=\partial y_c/\partial A",
        "Chefer et al. 2021, gradient-only rule",
    ),
    "input": Method(
        "Gradient × input",
        "(sum over a patch's pixels of x ∂y/∂x)⁺",
        r"r_n=\Bigl(\sum_{p\in n}x_p\,\partial y_c/\partial x_p\Bigr)^{+}",
        "Shrikumar et al. 2016, a control that uses no attention",
    ),
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
