"""Gradient norms by block, over seeds: what reaches the first block of a deep model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import plural

Row = Mapping[str, Any]
FloatArray = NDArray[np.float64]
LEAST = 1e-30  # smaller shares are not told apart: fp32 ends there, and a 0 is among them
ALIKE = 3.0  # norms whose ratio lies within this factor of 1 are called alike


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
        """The first block's norm over the last one's."""
        first, last = float(self.mean[0]), float(self.mean[-1])
        return first / last if last > 0 else float("nan")


def norms_at(rows: Sequence[Row], mark: int, titles: Mapping[str, str]) -> list[Norms]:
    """Return every variant at one moment, in the order of `titles`; those that had diverged by then are left out.

    Args:
        rows: each with 'variant' and 'norms' [mark][block].
        mark: the place of the moment among the marks.
        titles: of the variants.
    """
    found = []
    for name, title in titles.items():
        values = [row["norms"][mark] for row in rows if row["variant"] == name and len(row["norms"]) > mark]
        if values:
            table = np.maximum(np.array(values, np.float64), np.finfo(np.float64).tiny)
            mean = np.exp(np.log(table).mean(axis=0))
            found.append(Norms(name, title, mean, table.min(axis=0), table.max(axis=0), len(values)))
    return found


def describe(found: Sequence[Norms], updates: int) -> str:
    """Return what share of the last block's gradient the first one gets, variant by variant."""
    when = "At the start" if updates == 0 else f"After {plural(updates, 'update')}"
    said = [f"{one.title} {_times(one.share)}" for one in found]
    return f"{when} the first block's gradient over the last one's is: {'; '.join(said)}." if said else ""


def _times(share: float) -> str:
    if np.isnan(share):
        return "cannot be said, since the last gets none"
    if share < LEAST:
        return f"below {LEAST:g}"
    if 1 / ALIKE <= share <= ALIKE:
        return f"{share:.1f} (alike)"
    return f"{share:.0f}" if share > 1 else f"1/{1 / share:,.0f}"
