"""Compare two recipes or models: estimate, interval and a verdict that is as strong as the measurements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from vitviz.text import gained, plural

FloatArray = NDArray[np.float64]
Row = Mapping[str, Any]
Outcome = Literal["higher", "lower", "no difference shown"]
ERROR_RATE = 0.05  # of false verdicts, over all comparisons that one figure names
MOST_DIGITS = 4  # of an interval's ends
LEAST_IMAGES = 30
LEAST_ERRORS = 5  # test images, at the least, that one of the two must misclassify on average
FLOOR_ERRORS = 3.0  # standard errors above chance up to which an accuracy is at the floor
ONE_SEED = "one seed"
AT_FLOOR = "both are at chance"
AT_CEILING = f"fewer than {LEAST_ERRORS} errors each"
FEW_IMAGES = "too few images"
MAY_DIFFER = (
    "the interval of the difference contains 0, so a difference may exist"  # beside 'no difference shown'
)
UNEQUAL = "unequal budgets"


@dataclass(frozen=True)
class Verdict:
    """The difference of two measurements, and what it shows.

    Attributes:
        estimate: mean difference, first minus second; of accuracies in percentage points.
        reason: why there is no verdict; '' where there is one.
        seeds: pairs of trainings; 0 where two models are compared as they are, over images alone.
        images: on which both were measured.
        variances: of the estimate by seeds, by images, and the least of both together.
        low, high: its interval; None where none can be given.
        outcome: None where nothing can be concluded.
        rate: how often such an interval misses the true difference; less than 5 % in a family of comparisons.
    """

    estimate: float
    reason: str
    seeds: int
    images: int
    variances: tuple[float, float, float]
    low: float | None = None
    high: float | None = None
    outcome: Outcome | None = None
    rate: float = ERROR_RATE

    @property
    def shown(self) -> bool:
        """True if a difference is shown."""
        return self.outcome in ("higher", "lower")

    @property
    def sample(self) -> str:
        """'10 seeds, 359 images'."""
        images = plural(self.images, "image")
        return f"{plural(self.seeds, 'seed')}, {images}" if self.seeds else images

    @property
    def certainty(self) -> str:
        """'no difference shown', 'one seed' or '95 % interval +0.3 to +2.1', to follow a number."""
        return self.interval if self.shown else self.outcome or self.reason

    @property
    def interval(self) -> str:
        """'95 % interval +0.3 to +2.1'; '' where there is none."""
        return self.format_interval()

    def format_interval(self, digits: int = 1) -> str:
        """Return the interval with its confidence, and more digits where its ends would not agree with the outcome."""
        if self.low is None or self.high is None:
            return ""
        while (
            digits < MOST_DIGITS and self.shown and 0.0 in (round(self.low, digits), round(self.high, digits))
        ):
            digits += 1
        ends = " to ".join(gained(end, digits) for end in (self.low, self.high))
        return f"{format_confidence(self.rate)} interval {ends}"

    def describe(self, unit: str = "points", digits: int = 1) -> str:
        """Return 'higher, +1.2 points (95 % interval +0.3 to +2.1; 10 seeds, 359 images)'."""
        outcome = self.outcome or f"no verdict ({self.reason})"
        inside = "; ".join(filter(None, (self.format_interval(digits), self.sample)))
        return f"{outcome}, {gained(self.estimate, digits)} {unit} ({inside})"


def format_confidence(rate: float) -> str:
    """Return the confidence of an interval that misses at this rate: '95 %', or '98.3 %' in a family of three."""
    return f"{100 * (1 - rate):.3g}\N{NO-BREAK SPACE}%"


def compare(
    first: Mapping[int, float],
    second: Mapping[int, float],
    *,
    images: int,
    right: tuple[Mapping[int, NDArray[np.bool_]], Mapping[int, NDArray[np.bool_]]] | None = None,
    chance: float | None = None,
    reason: str = "",
) -> Verdict:
    """Compare two recipes by test accuracy, paired by seed and measured on the same images.

    The variance of the mean difference has two parts. The seeds' is their variance over their number. The images' is
    of all seeds' mean and does not shrink with more of them; it comes from the images on which the two differ,
    or without stored predictions from the binomial bound. Each part has its own quantile (Banerjee 1961): degrees of
    freedom after Satterthwaite give up to 13 % false verdicts with two seeds.

    Args:
        first, second: accuracy from 0 to 1, by seed.
        right: which images each classifies correctly, by seed; None: not stored.
        chance: accuracy of guessing, for the floor; None: not an accuracy that has one.
        reason: why the two cannot be compared, such as `UNEQUAL`; there is no verdict then.

    Raises:
        ValueError: if no seed has both.
    """
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise ValueError("no seed has both measurements")
    ends = np.array([[side[seed] for seed in seeds] for side in (first, second)], np.float64)
    differences = 100 * (ends[0] - ends[1])
    means = ends.mean(axis=1)
    of_images = least = 100.0**2 * float(np.sum(means * (1 - means))) / max(images, 1)
    if right is not None and all(seed in side for side in right for seed in seeds):
        of_images, least = _measure_image_variances(
            *(np.stack([side[seed] for seed in seeds]) for side in right)
        )
    of_seeds = float(np.var(differences, ddof=1)) / len(seeds) if len(seeds) > 1 else 0.0
    verdict = Verdict(
        estimate=float(differences.mean()),
        reason=reason or _find_reason(means, len(seeds), images, chance),
        seeds=len(seeds),
        images=images,
        variances=(of_seeds, of_images, least),
    )
    return verdict if len(seeds) == 1 else _decide(verdict, ERROR_RATE)


def measure_interval(accuracies: Sequence[float] | FloatArray, images: int) -> tuple[float, float]:
    """Return the 95 % interval of a mean accuracy, from its seeds and from its test images.

    Args:
        accuracies: from 0 to 1, one a seed, all on the same images; of one seed the interval is over images alone.
    """
    mean = float(np.mean(accuracies))
    of_images = mean * (1 - mean) / max(images, 1)
    of_seeds = float(np.var(accuracies, ddof=1)) / len(accuracies) if len(accuracies) > 1 else 0.0
    half = _half_width(
        Verdict(mean, "", len(accuracies), images, (of_seeds, of_images, of_images)), ERROR_RATE
    )
    return max(0.0, mean - half), min(1.0, mean + half)


def share_interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, which has a width at 0 and 1, too."""
    z = float(ndtri(1 - ERROR_RATE / 2))
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z / (1 + z**2 / count) * sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def compare_values(first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray) -> Verdict:
    """Compare two measures of the same images, such as the attention distances of two heads of one model.

    Args:
        first, second: one value an image, in the measure's unit.
    """
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    images = len(differences)
    variance = float(differences.var(ddof=1)) / images if images > 1 else 0.0
    return judge_difference(float(differences.mean()), variance, images)


def compare_seeds(first: Sequence[float] | FloatArray, second: Sequence[float] | FloatArray) -> Verdict:
    """Compare two measures of trainings, one value a seed, such as the logarithms of gradient norms."""
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    seeds = len(differences)
    variance = float(differences.var(ddof=1)) / seeds if seeds > 1 else 0.0
    reason = ONE_SEED if seeds == 1 else ""
    verdict = Verdict(float(differences.mean()), reason, seeds, images=0, variances=(variance, 0.0, 0.0))
    return verdict if seeds == 1 else _decide(verdict, ERROR_RATE)


def judge_difference(
    estimate: float, variance: float, images: int, seeds: int = 0, of_seeds: float = 0.0
) -> Verdict:
    """Judge the difference of two models, measured as they are: their seeds are not varied.

    Args:
        variance: of the estimate, over images.
        images: on which both were measured.
        seeds: draws of random weights, of which the second model is the mean.
        of_seeds: variance of the estimate over these draws.
    """
    reason = FEW_IMAGES if images < LEAST_IMAGES else ""
    verdict = Verdict(estimate, reason, seeds=seeds, images=images, variances=(of_seeds, variance, variance))
    return _decide(verdict, ERROR_RATE)


def compare_family(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts of comparisons that stand side by side: at most 5 % of such figures hold a false one.

    After Holm, the clearest of k is tested at 5 % / k, the next one at 5 % / (k - 1), until one shows no difference.
    Intervals have the confidence of their test. Comparisons without a verdict are no tests.
    """
    tested = sorted(
        (index for index, verdict in enumerate(verdicts) if verdict.outcome is not None),
        key=lambda index: _p_value(verdicts[index]),
    )
    family, rate, stopped = list(verdicts), ERROR_RATE, False
    for done, index in enumerate(tested):
        if not stopped:
            rate = ERROR_RATE / (len(tested) - done)
        family[index] = _decide(verdicts[index], rate)
        stopped = stopped or not family[index].shown
    return family


def rank_leaders(
    values: Mapping[str, float], compare_pair: Callable[[str, str], Verdict | None]
) -> tuple[str, ...]:
    """Return the names whose value is not shown to be lower than the highest one, in their order.

    Args:
        compare_pair: the verdict on two names; None if they cannot be compared.
    """
    # Whichever is the highest, all pairs could have been named.
    compared = {pair: compare_pair(*pair) for pair in combinations(values, 2)}
    pairs = {pair: verdict for pair, verdict in compared.items() if verdict is not None}
    best = max(values, key=values.__getitem__)
    lower = {
        b if verdict.outcome == "higher" else a
        for (a, b), verdict in zip(pairs, compare_family([*pairs.values()]), strict=True)
        if best in (a, b) and verdict.shown
    }
    return tuple(name for name in values if name not in lower)


def _measure_image_variances(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the variance by images of the mean difference: without, and with, the seeds' noise in each image.

    Args:
        first, second: (seeds, images), True where an image is classified correctly.
    """
    differences = 100.0 * (first.astype(np.float64) - second)  # 0 where the two agree
    seeds, images = differences.shape
    whole = float(differences.mean(axis=0).var(ddof=1)) / images
    noise = float(differences.var(axis=0, ddof=1).mean()) / seeds / images if seeds > 1 else 0.0
    return max(whole - noise, 0.0), whole


def _find_reason(means: FloatArray, seeds: int, images: int, chance: float | None) -> str:
    if images < LEAST_IMAGES:
        return FEW_IMAGES
    if chance is not None and means.max() <= chance + FLOOR_ERRORS * sqrt(chance * (1 - chance) / images):
        return AT_FLOOR
    if images * (1 - means.min()) < LEAST_ERRORS:
        return AT_CEILING
    return ONE_SEED if seeds == 1 else ""


def _half_width(verdict: Verdict, rate: float) -> float:
    """Return half of the interval that misses the true difference at most at this rate."""
    of_seeds, of_images, least = verdict.variances
    normal = float(stdtrit(max(verdict.images - 1, 1), 1 - rate / 2))
    spread = float(stdtrit(verdict.seeds - 1, 1 - rate / 2)) if verdict.seeds > 1 else 0.0
    return sqrt(max(spread**2 * of_seeds + normal**2 * of_images, normal**2 * least))


def _decide(verdict: Verdict, rate: float) -> Verdict:
    half = _half_width(verdict, rate)
    low, high = verdict.estimate - half, verdict.estimate + half
    outcome: Outcome = "higher" if low > 0 else "lower" if high < 0 else "no difference shown"
    return replace(verdict, low=low, high=high, outcome=None if verdict.reason else outcome, rate=rate)


def _p_value(verdict: Verdict) -> float:
    """Return the least rate at which the interval excludes 0, to one part in a thousand."""
    low, high = 1e-12, 1.0
    while high > 1.001 * low:
        middle = sqrt(low * high)
        if _half_width(verdict, middle) < abs(verdict.estimate):
            high = middle
        else:
            low = middle
    return high
