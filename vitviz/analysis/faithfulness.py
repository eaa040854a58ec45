"""Measure the faithfulness of a relevance map by deletion and insertion of patches in its order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray
from vitviz.text import signed

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Schedule:
    """The patches that are shown after each step: `deletion` and `insertion` (steps + 1, patches), True = shown.

    `fraction` (steps + 1,) is the share of patches blanked, or shown again.
    """

    deletion: BoolArray
    insertion: BoolArray
    fraction: FloatArray


def create_schedule(relevance: FloatArray, steps: int) -> Schedule:
    """Blank patches from the most relevant on (deletion), or show them on a blank image (insertion).

    Petsiuk et al. 2018 (RISE), with a ViT's own patches as the units. Ties keep reading order.

    Args:
        relevance: (patches,); higher is blanked earlier.
        steps: at most the number of patches.
    """
    patches = len(relevance)
    rank = np.empty(patches, dtype=np.int64)
    rank[np.argsort(-relevance, kind="stable")] = np.arange(patches)
    counts = np.round(np.linspace(0, patches, steps + 1)).astype(np.int64)
    first = rank[None, :] < counts[:, None]
    return Schedule(~first, first, counts / patches)


def blank_patches(image: FloatArray, shown: BoolArray, grid: tuple[int, int]) -> NDArray[np.float32]:
    """Return copies of one prepared image with blanked patches, set to the model's input 0.

    Args:
        image: (C, H, W), prepared: 0 is the colour that its preparation subtracts.
        shown: (copies, patches), False where a patch is blanked.

    Returns:
        (copies, C, H, W).
    """
    rows, cols = grid
    C, H, W = image.shape
    cut = image.reshape(1, C, rows, H // rows, cols, W // cols)
    mask = shown.reshape(-1, 1, rows, 1, cols, 1)
    return np.asarray((cut * mask).reshape(len(shown), C, H, W), dtype=np.float32)


def area(fraction: FloatArray, probability: FloatArray) -> float:
    """Return the area under a deletion or insertion curve, by trapezia; both axes run from 0 to 1."""
    return float(np.trapezoid(probability, fraction))


def random_orders(patches: int, count: int) -> NDArray[np.float64]:
    """Return (count, patches) random relevance maps, the baseline of every method."""
    return np.random.default_rng(0).random((count, patches))


@dataclass(frozen=True)
class Score:
    """Areas of one method on one image; `gap` is insertion minus deletion, higher is better."""

    method: str
    deletion: float
    insertion: float

    @property
    def gap(self) -> float:
        """Insertion area minus deletion area, both rounded to the two digits shown."""
        return round(round(self.insertion, 2) - round(self.deletion, 2), 2)


def describe_scores(scores: list[Score], random: list[Score]) -> str:
    """Describe the method with the largest insertion minus deletion area."""
    best, *others = sorted(scores, key=lambda score: -score.gap)
    luckiest = max(order.gap for order in random)
    if best.gap <= luckiest:
        return (
            f"On this image, no method beats every random order: insertion minus deletion is {signed(best.gap)} for"
            f" {best.method}, and {signed(luckiest)} for the best of {len(random)} random orders."
        )
    text = (
        f"On this image, {best.method.lower()} explains the prediction best: insertion minus deletion is"
        f" {signed(best.gap)}, against {signed(luckiest)} for the best of {len(random)} random orders"
    )
    if others:
        text += f"; next: {others[0].method.lower()}, {signed(others[0].gap)}"
    return text + "."
