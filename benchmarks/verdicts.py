"""Simulate verdicts: the rate of false ones, and how often a true difference is shown.

    python benchmarks/verdicts.py [--experiments 10000] [--out docs/verdicts.md]

Every experiment draws test images, two recipes with their own difficult images, and seeds; correctness is drawn image
by image. Takes about 10 minutes on one core.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.analysis.verdict import Verdict, compare  # noqa: E402

EASY, SPREAD, OWN = 3.6, 2.0, 0.5  # logits of being correct: mean, SD by image, SD by image and recipe
ABILITY = 0.1  # SD of a seed
LEVELS = {"90 %": EASY, "59 %": 0.6}  # accuracies
ABILITIES = (0.05, 0.2)
IMAGES = (359, 2_000, 10_000)
SEEDS = (2, 3, 5)
POINTS = (1, 2, 5)
CHUNK = 2_000_000  # images × seeds that are drawn at once
TEXT = """# What a verdict can show

`vitviz.analysis.verdict.compare` returns an estimate, a 95 % interval and *higher*, *lower* or *no difference shown*.
Half of the interval's width is √(t² · variance over seeds / n + z² · variance over images). All seeds share the test
images, so the images' part does not shrink with more seeds. Each part has its own quantile (Banerjee 1961): with
degrees of freedom after Satterthwaite, up to 13 % of null experiments with two seeds gave a false verdict, and up to
8 % with three. The same sign in all seeds is no rule: chance gives it in 50 % of cases with two seeds, in 25 % with
three and in 6 % with five.

The comparisons that one text may name are one family, tested after Holm. Their intervals have the confidence of
their test: more than 95 % each where there are several.

`python benchmarks/verdicts.py` draws {experiments:,} experiments for each number. Two recipes have their own difficult
images, seeds differ in ability, and correctness is drawn image by image.

## False verdicts between recipes of equal mean

The highest rate over accuracies of {levels}, and abilities of seeds with an SD of {abilities} logits.

{null}

## How often a true difference is shown

At an accuracy of 90 %, with an SD over seeds of {ability} logits (0.6 points, as of the stored trainings on digits)
and stored predictions; {fewer:,} experiments for each number.

{power}

*No difference shown* is no proof of equality: the table says which differences would have been missed.
"""


def draw(
    rng: np.random.Generator,
    experiments: int,
    seeds: int,
    images: int,
    level: float,
    ability: float,
    gain: float,
) -> Iterator[np.ndarray]:
    """Yield (2, seeds, images), True where an image is classified correctly, of each experiment."""
    while experiments > 0:
        count = min(experiments, max(1, CHUNK // (2 * seeds * images)))
        shared = level + SPREAD * rng.standard_normal((count, 1, 1, images), dtype=np.float32)
        own = OWN * rng.standard_normal((count, 2, 1, images), dtype=np.float32)
        logits = shared + own + ability * rng.standard_normal((count, 2, seeds, 1), dtype=np.float32)
        logits[:, 0] += gain
        yield from rng.random(logits.shape, dtype=np.float32) < 1 / (1 + np.exp(-logits))
        experiments -= count


def judge(right: np.ndarray, stored: bool) -> Verdict:
    """Return the verdict of one experiment, with or without stored predictions."""
    accuracy = [dict(enumerate(side.mean(axis=1))) for side in right]
    predictions = [dict(enumerate(side)) for side in right]
    return compare(
        accuracy[0], accuracy[1], images=right.shape[2], right=tuple(predictions) if stored else None
    )


@cache
def gain_of(points: int, level: float, ability: float) -> float:
    """Return the logits that make a recipe better by so many points on average."""
    rng = np.random.default_rng(0)
    logits = level + SPREAD * rng.standard_normal(400_000) + OWN * rng.standard_normal(400_000)
    logits += ability * rng.standard_normal(400_000)
    base, low, high = np.mean(1 / (1 + np.exp(-logits))), 0.0, 10.0
    for _ in range(30):
        middle = (low + high) / 2
        if 100 * (np.mean(1 / (1 + np.exp(-logits - middle))) - base) < points:
            low = middle
        else:
            high = middle
    return low


def judge_all(
    experiments: int, seeds: int, images: int, level: float, ability: float, points: int
) -> list[tuple[Verdict, Verdict]]:
    """Return the verdicts of experiments with a true difference, with stored predictions and from accuracies alone."""
    rng = np.random.default_rng([seeds, images, points])
    gain = gain_of(points, level, ability) if points else 0.0
    drawn = draw(rng, experiments, seeds, images, level, ability, gain)
    return [(judge(right, True), judge(right, False)) for right in drawn]


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return a table in Markdown."""
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "verdicts.md")
    options = parser.parse_args()
    null = []
    for seeds in SEEDS:
        for images in IMAGES:
            shown = [
                [
                    [verdict.shown for verdict in pair]
                    for pair in judge_all(options.experiments, seeds, images, level, ability, 0)
                ]
                for level in LEVELS.values()
                for ability in ABILITIES
            ]
            rates = np.mean(shown, axis=1).max(axis=0)
            null.append([f"{seeds}", f"{images:,}", *(f"{100 * rate:.1f} %" for rate in rates)])
            print(null[-1], flush=True)
    power = []
    fewer = max(options.experiments // 10, 1)
    for seeds in (*SEEDS, 10):
        for images in IMAGES:
            shares = [
                np.mean(
                    [v.outcome == "higher" for v, _ in judge_all(fewer, seeds, images, EASY, ABILITY, points)]
                )
                for points in POINTS
            ]
            power.append([f"{seeds}", f"{images:,}", *(f"{100 * share:.0f} %" for share in shares)])
            print(power[-1], flush=True)
    text = TEXT.format(
        experiments=options.experiments,
        fewer=fewer,
        levels=" and ".join(LEVELS),
        abilities=" and ".join(map(str, ABILITIES)),
        ability=ABILITY,
        null="\n".join(table(["seeds", "test images", "predictions stored", "accuracies alone"], null)),
        power="\n".join(
            table(["seeds", "test images", *(f"{n} point{'s' * (n > 1)}" for n in POINTS)], power)
        ),
    )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
