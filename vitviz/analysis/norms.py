"""Normalise tokens by layer, batch, instance and group norm, and compare gradient norms by block in deep models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import compare_family, compare_seeds
from vitviz.text import join_words, plural

FloatArray = NDArray[np.floating]
EPSILON = 1e-6
NORMS = {
    "layer": "LayerNorm",
    "batch": "BatchNorm",
    "instance": "InstanceNorm",
    "group": "GroupNorm",
}
GROUPS = 4  # of channels, for GroupNorm
Row = Mapping[str, Any]
LEAST = 1e-30  # smaller ratios are below the range of fp32
ALIKE = 3.0  # norms whose ratio is within this factor of 1 are similar


@dataclass(frozen=True, eq=False)
class Normed:
    """One normalisation of tokens (B, N, D).

    Attributes:
        values: (B, N, D), before gain and bias.
        members: (B, N, D), whether a number shares its mean with the asked one.
        means: how many means (and deviations) were taken.
        mean, deviation: of the asked number's own set.
    """

    values: FloatArray
    members: NDArray[np.bool_]
    means: int
    mean: float
    deviation: float


def normalise(tokens: FloatArray, norm: str, at: tuple[int, int, int], groups: int = GROUPS) -> Normed:
    """Return y = (x - mean) / sqrt(variance + 1e-6), with the mean over the axes of the norm.

    LayerNorm (Ba et al. 2016): one token's channels. Batch norm (Ioffe and Szegedy 2015): one channel of all tokens
    of all images. Instance norm (Ulyanov et al. 2016): one channel of one image's tokens. Group norm (Wu and He
    2018): a group of channels of one image's tokens.

    Args:
        tokens: (B, N, D).
        norm: of `NORMS`.
        at: (image, token, channel) of the number that is asked about.
        groups: of channels, for group norm; it divides D.
    """
    images, count, channels = tokens.shape
    sets = _sets(images, count, channels, norm, groups)
    number = int(sets.max()) + 1
    flat, sizes = tokens.astype(np.float64).ravel(), np.bincount(sets.ravel(), minlength=number)
    means = np.bincount(sets.ravel(), flat, minlength=number) / sizes
    centred = tokens - means[sets]
    variances = np.bincount(sets.ravel(), (centred**2).ravel(), minlength=number) / sizes
    set_index = int(sets[at])
    return Normed(
        centred / np.sqrt(variances[sets] + EPSILON),
        sets == set_index,
        number,
        float(means[set_index]),
        float(np.sqrt(variances[set_index])),
    )


def _sets(images: int, count: int, channels: int, norm: str, groups: int) -> NDArray[np.int64]:
    """Return (B, N, D): the index of the normalisation group of each entry."""
    b, n, d = np.indices((images, count, channels))
    group = d // (channels // groups)
    numbers = {"layer": b * count + n, "batch": d, "instance": b * channels + d, "group": b * groups + group}
    return np.asarray(numbers[norm], np.int64)


def batch_influence(tokens: FloatArray, norm: str, others: FloatArray, groups: int = GROUPS) -> float:
    """Return the change of the first image's normalised tokens when the rest of the batch is replaced.

    Args:
        tokens: (B, N, D).
        norm: of `NORMS`.
        others: (B, N, D); its first image is not read.
        groups: of channels, for group norm; it divides D.

    Returns:
        The root mean square of the change; 0 where a norm looks at one image at a time.
    """
    mixed = np.concatenate([tokens[:1], others[1:]])
    first, second = (normalise(batch, norm, (0, 0, 0), groups).values[0] for batch in (tokens, mixed))
    return float(np.sqrt(np.mean((first - second) ** 2)))


@dataclass(frozen=True, eq=False)
class Norms:
    """One variant at one moment: (depth,) geometric means over the seeds, and the ends of their 95 % intervals.

    Attributes:
        shares: (seeds,), ratio of the first block's norm to the last block's.
    """

    name: str
    title: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    shares: FloatArray

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len(self.shares)

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
            logs = np.log(table)
            verdicts = [compare_seeds(block, np.zeros(len(block))) for block in logs.T]
            ends = [[v.estimate if end is None else end for end in (v.low, v.high)] for v in verdicts]
            mean, (low, high) = np.exp(logs.mean(axis=0)), np.exp(ends).T
            norms.append(Norms(name, title, mean, low, high, shares=table[:, 0] / table[:, -1]))
    return norms


def describe_gradient_shares(norms: Sequence[Norms], updates: int) -> str:
    """Describe the ratio of the first block's gradient norm to the last block's, by variant."""
    moment = "before training" if updates == 0 else f"after {plural(updates, 'update')}"
    if not norms:
        return ""
    first, *others = (
        f"{format_ratio(variant.share)} in '{variant.title}'"
        for variant in sorted(norms, key=lambda variant: np.nan_to_num(variant.share, nan=np.inf))
    )
    more = f"; the others: {', '.join(others)}" if others else ""
    return (
        f"The smallest ratio of the first block's gradient norm to the last block's is {first} {moment}{more}."
        f"{_describe_certainty(norms)}"
    )


def _describe_certainty(norms: Sequence[Norms]) -> str:
    """Describe which ratios are not shown to be larger than the smallest one; '' with one seed."""
    if min((norm.seeds for norm in norms), default=0) < 2:
        return ""
    _, *level = find_smallest(norms)
    if not level:
        return f" It is shown to be smaller than each other one over {norms[0].seeds} seeds."
    names = join_words([f"'{norm.title}'" for norm in level])
    return f" Over {norms[0].seeds} seeds no difference from {names} is shown."


def find_smallest(norms: Sequence[Norms]) -> list[Norms]:
    """Return the variant with the smallest ratio, then those that are not shown to have a larger one."""
    ranked = sorted((norm for norm in norms if not np.isnan(norm.share)), key=lambda norm: norm.share)
    smallest, *others = ranked
    duels = [compare_seeds(np.log(norm.shares), np.log(smallest.shares)) for norm in others]
    family = zip(others, compare_family(duels), strict=True)
    return [smallest, *(norm for norm, verdict in family if not verdict.shown)]


def format_ratio(share: float) -> str:
    """Return a ratio of gradient norms as '3', '1.2 (similar)' or '1/40'."""
    if np.isnan(share):
        return "undefined (no gradient in the last block)"
    if share < LEAST:
        return f"below {LEAST:g}"
    if 1 / ALIKE <= share <= ALIKE:
        return f"{share:.1f} (similar)"
    return f"{share:.0f}" if share > 1 else f"1/{1 / share:,.0f}"
