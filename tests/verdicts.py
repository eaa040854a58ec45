"""Recompute verdicts with numpy alone, independent of `vitviz.analysis.verdict`."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np


@cache
def t_quantile(freedom: int, share: float) -> float:
    """Return the quantile of Student's t, by integration of its density over arctan(t / √ν)."""
    angles = np.linspace(0, np.pi / 2, 400_001)
    density = np.cos(angles) ** (freedom - 1)
    area = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    angle = np.interp(2 * share - 1, area / area[-1], angles)
    return float(np.tan(angle) * np.sqrt(freedom))


def unpack(text: str) -> np.ndarray:
    images, bits = text.split()
    return np.unpackbits(np.frombuffer(base64.b64decode(bits), np.uint8))[: int(images)]


def recompute(
    rows: Sequence[Any], others: Sequence[Any], images: int, rate: float = 0.05
) -> tuple[float, float, float] | None:
    """Return the mean difference of two groups of rows in points, and its interval; NaN ends with one seed."""
    own, base = ({row["seed"]: row for row in group if "test" in row} for group in (rows, others))
    seeds = sorted(own.keys() & base.keys())
    if not seeds:
        return None
    gaps = np.array([100 * (own[seed]["test"] - base[seed]["test"]) for seed in seeds])
    if len(seeds) == 1:
        return float(gaps[0]), float("nan"), float("nan")
    if all("right" in side[seed] for side in (own, base) for seed in seeds):
        each = np.array(
            [100.0 * unpack(own[seed]["right"]) - 100.0 * unpack(base[seed]["right"]) for seed in seeds]
        )
        whole = each.mean(axis=0).var(ddof=1) / images
        of_images = max(whole - each.var(axis=0, ddof=1).mean() / len(seeds) / images, 0.0)
    else:
        means = [np.mean([side[seed]["test"] for seed in seeds]) for side in (own, base)]
        whole = of_images = sum(1e4 * mean * (1 - mean) / images for mean in means)
    t, z = t_quantile(len(seeds) - 1, 1 - rate / 2), t_quantile(images - 1, 1 - rate / 2)
    half = np.sqrt(max(t**2 * gaps.var(ddof=1) / len(seeds) + z**2 * of_images, z**2 * whole))
    return float(gaps.mean()), float(gaps.mean() - half), float(gaps.mean() + half)


Pair = tuple[Sequence[Any], Sequence[Any], int]


def holm(pairs: Sequence[Pair], rate: float = 0.05) -> list[str]:
    """Return the outcome of each comparison of a family, by step-down tests; '' with one seed or no common seed."""
    outcomes = [""] * len(pairs)
    tested = []
    for place, pair in enumerate(pairs):
        found = recompute(*pair)
        if found is not None and not np.isnan(found[1]):
            outcomes[place] = "no difference shown"
            tested.append(place)
    while tested:
        level = rate / len(tested)
        intervals = {place: recompute(*pairs[place], level) for place in tested}
        shown = [place for place, found in intervals.items() if found and (found[1] > 0 or found[2] < 0)]
        if not shown:
            break
        for place in shown:  # every p-value below this level is also below the levels of later steps
            found = intervals[place]
            outcomes[place] = "higher" if found and found[1] > 0 else "lower"
            tested.remove(place)
    return outcomes
