"""Change an image by a strength, such as a shift or noise, and make copies whose corresponding places are known.

An image is what a model reads, so lengths are in the model's pixels. What comes
into view from beyond the image has the mean colour of its border: a digit's black stays black.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import sqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

from vitviz.analysis.patches import scramble, scrambled_order
from vitviz.analysis.verdict import Verdict, judge_difference, rank_leaders
from vitviz.experiments.result_file import Result

Uint8 = NDArray[np.uint8]
Float64 = NDArray[np.float64]
PIECES = 4  # a side: what is taken apart has 4 x 4 pieces
PATCH_PX = 4  # of what is shuffled
WHOLE = tuple(range(PIECES * PIECES))
ROBUSTNESS = "robustness"  # of the experiment
UNCHANGED = "none"  # the row of the unchanged images
COPIES: Mapping[str, str] = MappingProxyType(
    {"flip": "Mirror image", "shift": "Shifted copy", "crop": "Enlarged centre"}
)
SHIFTED = 0.25  # of the width, to the right
CROPPED = 2 / 3  # of the side


@dataclass(frozen=True)
class ChangeSetting:
    """Parameters of an image change besides its strength.

    place: (x, y) in [0, 1], the middle of what covers the image. seed: of the noise, or of the patches' order.
    pieces: which piece lies in each place, of `PIECES` x `PIECES`.
    """

    place: tuple[float, float] = (0.5, 0.5)
    seed: int = 0
    pieces: tuple[int, ...] = WHOLE


@dataclass(frozen=True)
class Change:
    """One kind of change: its strengths in order, and the neutral one."""

    title: str
    values: tuple[float, ...]
    neutral: float
    apply: Callable[[Uint8, float, ChangeSetting], Uint8]  # image (S, S, 3), strength, setting

    @property
    def start(self) -> int:
        """Index of the neutral strength."""
        return self.values.index(self.neutral)


def apply_change(image: Uint8, name: str, strength: float, setting: ChangeSetting = ChangeSetting()) -> Uint8:
    """Return a square image changed by a strength; the neutral one gives the image itself.

    Args:
        image: (S, S, 3), S a multiple of 4.
        name: of `CHANGES`.
        strength: in the change's own unit.

    Raises:
        ValueError: if the image is no such square.
        KeyError: if there is no such change.
    """
    change = CHANGES[name]
    if image.ndim != 3 or image.shape[0] != image.shape[1] or image.shape[0] % PIECES:
        raise ValueError(f"image must be (S, S, 3), S a multiple of {PIECES}, received {image.shape}")
    return image if strength == change.neutral else change.apply(image, strength, setting)


def apply_all_strengths(image: Uint8, name: str, setting: ChangeSetting = ChangeSetting()) -> Uint8:
    """Return the image at every strength of a change, (strengths, S, S, 3); see `apply_change`."""
    return np.stack([apply_change(image, name, strength, setting) for strength in CHANGES[name].values])


def border_colour(image: Uint8) -> Float64:
    """Return (3,), the mean over the outermost pixels."""
    edges = np.concatenate([image[0], image[-1], image[1:-1, 0], image[1:-1, -1]])
    return np.asarray(edges.mean(axis=0), dtype=np.float64)


def shift(image: Uint8, columns: int) -> Uint8:
    """Shift to the right by whole columns (to the left where negative)."""
    out = np.empty_like(image)
    out[:] = _round_pixels(border_colour(image))
    width = image.shape[1]
    overlap = max(width - abs(columns), 0)
    if columns >= 0:
        out[:, width - overlap :] = image[:, :overlap]
    else:
        out[:, :overlap] = image[:, width - overlap :]
    return out


def apply_linear_map(image: Uint8, matrix: Float64) -> Uint8:
    """Return the image under a linear map about its middle, read between its pixels bilinearly.

    Args:
        matrix: (2, 2), from a place in the result to one in the image, (x, y) in px from the middle.
    """
    size = image.shape[0]
    middle = (size - 1) / 2
    y, x = np.mgrid[:size, :size] - middle
    at_x, at_y = np.einsum("ij,jyx->iyx", matrix, np.stack([x, y])) + middle
    padded = np.empty((size + 2, size + 2, 3))
    padded[:] = border_colour(image)
    padded[1:-1, 1:-1] = image
    at_x, at_y = (np.clip(at + 1, 0, size + 1 - 1e-9) for at in (at_x, at_y))
    left, top = at_x.astype(int), at_y.astype(int)
    right, below = (at_x - left)[..., None], (at_y - top)[..., None]
    upper = padded[top, left] * (1 - right) + padded[top, left + 1] * right
    lower = padded[top + 1, left] * (1 - right) + padded[top + 1, left + 1] * right
    return _round_pixels(upper * (1 - below) + lower * below)


def rotate(image: Uint8, degrees: float) -> Uint8:
    """Rotate clockwise about its middle; quarter turns move whole pixels."""
    if degrees % 90 == 0:
        return np.rot90(image, -round(degrees / 90)).copy()
    angle = np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    return apply_linear_map(image, np.array([[cos, sin], [-sin, cos]]))


def zoom(image: Uint8, factor: float) -> Uint8:
    """Zoom by `factor` about the middle."""
    return apply_linear_map(image, np.eye(2) / factor)


def blur(image: Uint8, sigma_px: float) -> Uint8:
    """Blur with a Gaussian of this standard deviation; edges are repeated."""
    smooth = gaussian_filter(image.astype(np.float64), (sigma_px, sigma_px, 0), mode="nearest")
    return _round_pixels(smooth)


def brighten(image: Uint8, share: float) -> Uint8:
    """Add a share of the whole range to every value."""
    return _round_pixels(image.astype(np.float64) + 255 * share)


def contrast(image: Uint8, factor: float) -> Uint8:
    """Multiply every value's distance from the mean colour by `factor`."""
    values = image.astype(np.float64)
    mean: Float64 = values.mean(axis=(0, 1))
    return _round_pixels(mean + factor * (values - mean))


def noise(image: Uint8, share: float, seed: int) -> Uint8:
    """Add Gaussian noise whose standard deviation is a share of the whole range.

    One seed gives one noise: a larger share makes the same noise stronger.
    """
    return _round_pixels(image + 255 * share * sample_noise(image.shape[0], seed))


def sample_noise(size_px: int, seed: int) -> Float64:
    """Return noise (S, S, 3) of standard deviation 1."""
    return np.random.default_rng(seed).standard_normal((size_px, size_px, 3))


def cover(image: Uint8, side_px: int, place: tuple[float, float]) -> Uint8:
    """Cover a square around (x, y) in [0, 1] with the border's colour."""
    out = image.copy()
    top, left = (round(at * image.shape[0] - side_px / 2) for at in (place[1], place[0]))
    out[max(top, 0) : max(top + side_px, 0), max(left, 0) : max(left + side_px, 0)] = _round_pixels(
        border_colour(image)
    )
    return out


def shuffle(image: Uint8, share: float, seed: int) -> Uint8:
    """Shuffle a share of the patches of 4 x 4 px."""
    return rearrange(image, create_patch_order(image.shape[0], share, seed), PATCH_PX)


def create_patch_order(size_px: int, share: float, seed: int) -> NDArray[np.int64]:
    """Return the index of the patch that moves to each place, from `scrambled_order`."""
    return scrambled_order((size_px // PATCH_PX) ** 2, share, seed)


def rearrange(image: Uint8, order: NDArray[np.int64], patch_px: int) -> Uint8:
    """Move patch order[n] to place n, in reading order.

    Raises:
        ValueError: if order is no permutation of the patches.
    """
    moved = scramble(image.transpose(2, 0, 1), patch_px, order)
    return np.ascontiguousarray(moved.transpose(1, 2, 0))


def _round_pixels(values: Float64) -> Uint8:
    return np.rint(np.clip(values, 0, 255)).astype(np.uint8)


def _steps(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(round(low + (high - low) * i / (count - 1), 6) for i in range(count))


CHANGES: Mapping[str, Change] = {
    "shift": Change("Shift", _steps(-12, 12, 25), 0.0, lambda p, v, _: shift(p, round(v))),
    "rotate": Change("Rotate", _steps(-180, 180, 25), 0.0, lambda p, v, _: rotate(p, v)),
    "blur": Change("Blur", _steps(0, 4, 17), 0.0, lambda p, v, _: blur(p, v)),
    "occlude": Change(
        "Cover a part",
        _steps(0, 0.75, 7),  # few: a drag runs all of them through every model
        0.0,
        lambda p, v, at: cover(p, round(v * p.shape[0]), at.place),
    ),
    "zoom": Change("Zoom", tuple(2 ** (i / 8) for i in range(-8, 9)), 1.0, lambda p, v, _: zoom(p, v)),
    "brightness": Change("Brightness", _steps(-0.75, 0.75, 25), 0.0, lambda p, v, _: brighten(p, v)),
    "contrast": Change("Contrast", _steps(0, 2, 17), 1.0, lambda p, v, _: contrast(p, v)),
    "noise": Change("Noise", _steps(0, 0.5, 21), 0.0, lambda p, v, at: noise(p, v, at.seed)),
    "shuffle": Change("Shuffle the patches", _steps(0, 1, 21), 0.0, lambda p, v, at: shuffle(p, v, at.seed)),
    "pieces": Change(
        "Rearrange pieces",
        (0.0, 1.0),
        0.0,
        lambda p, _, at: rearrange(p, np.array(at.pieces), p.shape[0] // PIECES),
    ),
}


def find_unchanged_range(answers: NDArray[np.int64], start: int) -> tuple[int, int]:
    """Return the (first, last) strength around `start` between which the prediction does not change.

    Args:
        answers: (strengths,), the class that a model answers with.
        start: the place of the strength that changes nothing.
    """
    same = answers == answers[start]
    before, after = np.flatnonzero(~same[:start]), np.flatnonzero(~same[start:])
    first = int(before[-1]) + 1 if len(before) else 0
    last = start + int(after[0]) - 1 if len(after) else len(answers) - 1
    return first, last


@dataclass(frozen=True)
class Losses:
    """Test accuracies at each strength of a change.

    Attributes:
        strengths: in order, among them the neutral one.
        accuracy: by model, in [0, 1], one per strength.
        neutral: index of the unchanged image.
    """

    strengths: tuple[float, ...]
    accuracy: Mapping[str, list[float]]
    neutral: int

    def above_floor(self, chance: float, images: int) -> list[int]:
        """Return the indices of changed strengths at which a model is above chance by three standard errors."""
        floor = chance + 3 * (chance * (1 - chance) / images) ** 0.5
        return [
            index
            for index in range(len(self.strengths))
            if index != self.neutral and max(shares[index] for shares in self.accuracy.values()) > floor
        ]

    def kept(self, chance: float, images: int) -> dict[str, float]:
        """Return the share of its unchanged accuracy that each model keeps, the mean over strengths above chance."""
        indices = self.above_floor(chance, images)
        return {
            name: float(np.mean([shares[index] for index in indices])) / shares[self.neutral]
            for name, shares in self.accuracy.items()
            if indices
        }

    def compare_kept(self, first: str, second: str, chance: float, images: int) -> Verdict:
        """Compare the shares of two models, in points; the images' variance is the binomial bound."""
        indices = self.above_floor(chance, images)
        deviations = [
            100
            * np.mean([sqrt(p * (1 - p) / images) for p in (shares[i] for i in indices)])
            / shares[self.neutral]
            for shares in (self.accuracy[first], self.accuracy[second])
        ]
        kept = self.kept(chance, images)
        variance = float(np.sum(np.square(deviations)))
        return judge_difference(100 * (kept[first] - kept[second]), variance, images)

    def find_leaders(self, chance: float, images: int) -> tuple[str, ...]:
        """Return the models that are not shown to keep less than the first; none if all are at chance."""
        kept = self.kept(chance, images)
        compare = partial(self.compare_kept, chance=chance, images=images)
        return rank_leaders(kept, compare) if kept else ()


def collect_losses(stored: Result, change: str, titles: Mapping[str, str]) -> Losses:
    """Return the stored accuracies of the models that were measured at every strength, by their titles."""
    neutral = CHANGES[change].neutral
    measured: dict[str, dict[float, float]] = {title: {} for title in titles.values()}
    for row in (*stored.where(change=UNCHANGED), *stored.where(change=change)):
        strength = neutral if row["change"] == UNCHANGED else float(row["value"])
        measured[titles[row["model"]]][strength] = float(row["right"])
    strengths = tuple(sorted({strength for shares in measured.values() for strength in shares}))
    accuracy = {
        title: [shares[strength] for strength in strengths]
        for title, shares in measured.items()
        if len(shares) == len(strengths)
    }
    return Losses(strengths, accuracy, strengths.index(neutral))


def describe_error(shares: NDArray[np.floating], images: int) -> str:
    """Return a sentence with the sampling error of shares counted over this many images."""
    error = 1.96 * float(np.sqrt(shares * (1 - shares) / images).max())
    return f"95\N{NO-BREAK SPACE}% intervals: at most ± {100 * error:.1f} points; one run per model."


def copy_image(image: Uint8, kind: str) -> Uint8:
    """Return a mirrored, shifted or enlarged copy of an image (H, W, 3).

    Raises:
        KeyError: if there is no such kind.
    """
    height, width = image.shape[:2]
    if kind == "flip":
        return np.ascontiguousarray(image[:, ::-1])
    if kind == "shift":
        return shift(image, round(SHIFTED * width))
    if kind != "crop":
        raise KeyError(kind)
    left, top = width * (1 - CROPPED) / 2, height * (1 - CROPPED) / 2
    box = (left, top, width - left, height - top)
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BICUBIC, box))


def locate_cells(kind: str, grid: tuple[int, int]) -> NDArray[np.intp]:
    """Return the cell of a copy that shows the centre of each cell of the original.

    Args:
        kind: of `COPIES`.
        grid: (rows, cols), the same for both.

    Returns:
        (rows * cols,), in reading order; -1 where the centre lies outside the copy.

    Raises:
        KeyError: if there is no such kind.
    """
    rows, cols = grid
    y, x = (np.indices(grid).reshape(2, -1) + 0.5) / np.array([[rows], [cols]])
    if kind == "flip":
        x = 1 - x
    elif kind == "shift":
        x = x + SHIFTED
    elif kind == "crop":
        y, x = ((centres - 0.5) / CROPPED + 0.5 for centres in (y, x))
    else:
        raise KeyError(kind)
    inside = (x >= 0) & (x < 1) & (y >= 0) & (y < 1)
    cells = np.floor(y * rows + 1e-9) * cols + np.floor(x * cols + 1e-9)
    return np.where(inside, cells, -1).astype(np.intp)
