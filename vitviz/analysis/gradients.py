"""Compare gradient norms by block, over seeds, in deep models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import plural

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
LEAST = 1e-30  # smaller ratios are below the range of fp32
ALIKE = 3.0  # norms whose ratio is within this factor of 1 are similar


@dataclass(frozen=True, eq=False)
class Norms:
    """One variant at one moment: (depth,) geometric means, lowest and highest over the seeds."""

    name: str
    title: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    seeds: int

    @property
    def share(self) -> float:
        """Ratio of the first block's norm to the last block's."""
        first, last = float(self.mean[0]), float(self.mean[-1])
        return first / last if last > 0 else float("nan")


def select_norms(rows: Sequence[Row], mark: int, titles: Mapping[str, str]) -> list[Norms]:
    """Return the norms of every variant at one moment, in the order of `titles`; diverged variants are skipped.

    Args:
        rows: each with 'variant' and 'norms' [mark][block].
        mark: index of the moment.
    """
    norms = []
    for name, title in titles.items():
        values = [row["norms"][mark] for row in rows if row["variant"] == name and len(row["norms"]) > mark]
        if values:
            table = np.maximum(np.array(values, np.float64), np.finfo(np.float64).tiny)
            mean = np.exp(np.log(table).mean(axis=0))
            norms.append(Norms(name, title, mean, table.min(axis=0), table.max(axis=0), len(values)))
    return norms


def describe_gradient_shares(norms: Sequence[Norms], updates: int) -> str:
    """Describe the ratio of the first block's gradient norm to the last block's, by variant."""
    moment = "Before training" if updates == 0 else f"After {plural(updates, 'update')}"
    if not norms:
        return ""
    shares = [f"{variant.title} {format_share(variant.share)}" for variant in norms]
    weakest = min(norms, key=lambda variant: np.nan_to_num(variant.share, nan=np.inf)).title
    return (
        f"{moment}, the gradient norm of the first block relative to the last is smallest in {weakest}:"
        f" {'; '.join(shares)}."
    )


def format_share(share: float) -> str:
    """Return a ratio of gradient norms as '3', '1.2 (similar)' or '1/40'."""
    if np.isnan(share):
        return "undefined, as the last block has no gradient"
    if share < LEAST:
        return f"below {LEAST:g}"
    if 1 / ALIKE <= share <= ALIKE:
        return f"{share:.1f} (similar)"
    return f"{share:.0f}" if share > 1 else f"1/{1 / share:,.0f}"
