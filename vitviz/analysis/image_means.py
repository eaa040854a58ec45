"""Summarise measures of one model over a set of images: means, intervals and comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from vitviz.analysis.verdict import ERROR_RATE, Verdict, compare_family, judge_difference
from vitviz.text import signed

RANDOM, MATCH, COPY, GAP, SHARE, AGREEMENT = "random", "match ", "copy ", "gap ", "share ", "agreement "
Float64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ImageMeans:
    """Several measures of one model, each with one value an image.

    Attributes:
        source: name of the dataset.
        images: their number.
        names: of the measures.
        means: (measures,), over images.
        covariance: (measures, measures), of single images.
        draws: (draws, measures), means over images with other random weights each; empty without such draws.
    """

    source: str
    images: int
    names: tuple[str, ...]
    means: Float64
    covariance: Float64
    draws: Float64

    def __getitem__(self, name: str) -> float:
        return float(self.means[self.names.index(name)])

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def select(self, prefix: str) -> "ImageMeans":
        """Return the measures whose names start with a prefix, named by the rest of their names."""
        index = [at for at, name in enumerate(self.names) if name.startswith(prefix)]
        return replace(
            self,
            names=tuple(self.names[at].removeprefix(prefix) for at in index),
            means=self.means[index],
            covariance=self.covariance[np.ix_(index, index)],
            draws=self.draws[:, index],
        )

    def average(self, groups: dict[str, Sequence[str]]) -> "ImageMeans":
        """Return the mean of each group of measures, named by the group."""
        weights = np.array(
            [[(name in group) / len(group) for name in self.names] for group in groups.values()]
        )
        return replace(
            self,
            names=tuple(groups),
            means=weights @ self.means,
            covariance=weights @ self.covariance @ weights.T,
            draws=self.draws @ weights.T,
        )

    def half_width(self, name: str) -> float:
        """Return half of a mean's 95 % interval over images; NaN of a single image."""
        at = self.names.index(name)
        return compute_half_width(sqrt(max(self.covariance[at, at], 0.0)), self.images)

    def compare(self, first: str, second: str) -> Verdict:
        """Judge the difference of two measures, paired by image."""
        a, b = self.names.index(first), self.names.index(second)
        variance = self.covariance[a, a] + self.covariance[b, b] - 2 * self.covariance[a, b]
        return judge_difference(
            float(self.means[a] - self.means[b]), max(float(variance), 0.0) / self.images, self.images
        )

    def judge_pairs(self) -> dict[tuple[str, str], Verdict]:
        """Judge all pairs as one family: whichever leads, any of them could have been named."""
        pairs = [*combinations(self.names, 2)]
        return dict(zip(pairs, compare_family([self.compare(a, b) for a, b in pairs]), strict=True))

    def find_leaders(self) -> tuple[str, ...]:
        """Return the highest measure, and those that are not shown to be lower, highest first."""
        apart = {frozenset(pair) for pair, verdict in self.judge_pairs().items() if verdict.shown}
        order = sorted(self.names, key=lambda name: -self[name])
        return tuple(name for name in order if {order[0], name} not in apart)

    def describe(self, name: str, digits: int, scale: float = 1.0, unit: str = "") -> str:
        """Return '14.1 px (95 % interval 13.8 to 14.4)'."""
        mean, half = scale * self[name], scale * self.half_width(name)
        ends = f"{signed(mean - half, digits)} to {signed(mean + half, digits)}"
        return f"{signed(mean, digits)}{unit} (95\N{NO-BREAK SPACE}% interval {ends})"

    def control(self, name: str) -> tuple[float, float]:
        """Return mean and standard deviation over the draws of random weights."""
        values = self.draws[:, self.names.index(name)]
        return float(values.mean()), float(values.std(ddof=1))

    def compare_with_draws(self, name: str, control: str) -> Verdict:
        """Judge the difference to the mean of the draws, paired by image; the draws vary like seeds."""
        paired = self.compare(name, control)
        count, (_, of_images, _) = len(self.draws), paired.variances
        of_draws = self.control(control)[1] ** 2 / count
        return judge_difference(paired.estimate, of_images, self.images, count, of_draws)


def summarise_images(
    source: str, values: dict[str, Sequence[float] | NDArray[np.floating]], draws: Float64 | None = None
) -> ImageMeans:
    """Return means and covariance of measures.

    Args:
        values: one value an image, by the measure's name.
        draws: see `ImageMeans`.
    """
    table = np.array([*values.values()], np.float64)
    images = table.shape[1]
    covariance = np.cov(table).reshape(len(table), len(table)) if images > 1 else np.zeros((len(table),) * 2)
    empty = np.empty((0, len(table)))
    return ImageMeans(
        source, images, tuple(values), table.mean(axis=1), covariance, empty if draws is None else draws
    )


def compute_half_width(deviation: float, count: int) -> float:
    """Return half of the 95 % interval of a mean of `count` values with this standard deviation; NaN of one."""
    if count < 2:
        return float("nan")
    return float(stdtrit(count - 1, 1 - ERROR_RATE / 2)) * deviation / sqrt(count)
