"""Measure the faithfulness of a relevance map by deletion and insertion of patches in its order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from vitviz.analysis.attention import FloatArray
from vitviz.text import in_sentence, signed

BoolArray = NDArray[np.bool_]
FILLS = {"colour": "One colour", "patch": "Mean patch", "blur": "Blur"}  # what takes a blanked patch's place


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


def create_fill(image: FloatArray, grid: tuple[int, int], fill: str) -> FloatArray:
    """Return what takes the place of blanked patches, (C, H, W).

    Args:
        image: (C, H, W), prepared: 0 is the colour that its preparation subtracts.
        fill: 'colour' (0), 'patch' (the mean of the image's patches, pixel by pixel) or 'blur' (the image after a
            Gaussian filter whose standard deviation is a patch's side).

    Raises:
        ValueError: if the fill is unknown.
    """
    if fill not in FILLS:
        raise ValueError(f"fill must be one of {', '.join(FILLS)}, received {fill!r}")
    if fill == "colour":
        return np.zeros_like(image)
    rows, cols = grid
    C, H, W = image.shape
    if fill == "blur":
        return np.asarray(gaussian_filter(image, (0, H / rows, W / cols), mode="nearest"))
    mean = image.reshape(C, rows, H // rows, cols, W // cols).mean(axis=(1, 3))
    return np.tile(mean, (1, rows, cols))


def blank_patches(
    image: FloatArray, shown: BoolArray, grid: tuple[int, int], fill: str = "colour"
) -> NDArray[np.float32]:
    """Return copies of one prepared image with blanked patches.

    Args:
        image, fill: as `create_fill`.
        shown: (copies, patches), False where a patch is blanked.

    Returns:
        (copies, C, H, W).
    """
    rows, cols = grid
    C, H, W = image.shape
    cut, filled = (
        side.reshape(1, C, rows, H // rows, cols, W // cols)
        for side in (image, create_fill(image, grid, fill))
    )
    mask = shown.reshape(-1, 1, rows, 1, cols, 1)
    return np.asarray(np.where(mask, cut, filled).reshape(len(shown), C, H, W), dtype=np.float32)


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
    areas = np.mean([(order.deletion, order.insertion) for order in random], axis=0)
    mean = Score("Random order", *areas.tolist()).gap
    orders = (
        f"{signed(luckiest)} for the best of {len(random)} random orders and {signed(mean)} for their mean"
    )
    if best.gap <= luckiest:
        return (
            f"On this image, no method beats every random order: insertion minus deletion is {signed(best.gap)} for"
            f" {best.method}, {orders}."
        )
    text = (
        f"On this image, {in_sentence(best.method)} explains the prediction best: insertion minus deletion is"
        f" {signed(best.gap)}, against {orders}"
    )
    if others:
        text += f"; next: {in_sentence(others[0].method)}, {signed(others[0].gap)}"
    return text + "."
