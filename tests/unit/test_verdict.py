"""Test verdicts by hand-computed cases, and their rate of false verdicts by simulation."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from vitviz.analysis.study_numbers import Numbers
from vitviz.analysis.verdict import (
    AT_CEILING,
    AT_FLOOR,
    FEW_IMAGES,
    ONE_SEED,
    UNEQUAL,
    Verdict,
    compare,
    compare_family,
    measure_interval,
)

ROOT = Path(__file__).resolve().parents[2]


def by_seed(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def test_the_interval_adds_the_seeds_part_and_the_images_part() -> None:
    verdict = compare(by_seed(0.90, 0.92, 0.94), by_seed(0.80, 0.81, 0.85), images=10_000)
    assert verdict.estimate == pytest.approx(10.0)
    of_seeds = 1.0 / 3  # differences of 10, 11 and 9 points
    of_images = 1e4 * (0.92 * 0.08 + 0.82 * 0.18) / 10_000
    assert verdict.variances == pytest.approx((of_seeds, of_images, of_images))
    half = sqrt(4.302653**2 * of_seeds + 1.960201**2 * of_images)  # t of 2 and of 9,999 degrees of freedom
    assert (verdict.low, verdict.high) == pytest.approx((10 - half, 10 + half), abs=1e-4)
    assert (verdict.outcome, verdict.reason) == ("higher", "")
    other = compare(by_seed(0.80, 0.81, 0.85), by_seed(0.90, 0.92, 0.94), images=10_000)
    assert (other.outcome, other.estimate) == ("lower", pytest.approx(-10.0))


def test_the_same_sign_in_three_seeds_is_no_verdict() -> None:
    """Chance gives it in a quarter of all cases."""
    verdict = compare(by_seed(0.95, 0.96, 0.97), by_seed(0.94, 0.945, 0.969), images=359)
    assert verdict.outcome == "no difference shown"
    assert verdict.low is not None and verdict.low < 0 < verdict.estimate


def test_stored_predictions_give_the_images_part() -> None:
    first, second = np.ones((2, 100), bool), np.ones((2, 100), bool)
    second[:, :10] = False  # ten images that both seeds of the second misclassify
    first[0, 50] = False  # noise of one seed
    right = tuple(dict(enumerate(side)) for side in (first, second))
    accuracy = [{seed: float(row.mean()) for seed, row in side.items()} for side in right]
    verdict = compare(accuracy[0], accuracy[1], images=100, right=(right[0], right[1]))
    differences = 100.0 * (first.astype(float) - second)
    whole = differences.mean(axis=0).var(ddof=1) / 100
    noise = differences.var(axis=0, ddof=1).mean() / 2 / 100
    assert noise == pytest.approx(100.0**2 * 0.5 / 100 / 2 / 100)
    assert verdict.variances == pytest.approx((0.25, whole - noise, whole))


def test_seeds_are_paired_and_unpaired_ones_left_out() -> None:
    verdict = compare({0: 0.9, 1: 0.8, 7: 0.1}, {1: 0.7, 0: 0.8, 5: 0.9}, images=1000)
    assert verdict.seeds == 2 and verdict.estimate == pytest.approx(10.0)
    with pytest.raises(ValueError, match="no seed"):
        compare({0: 0.5}, {1: 0.5}, images=1000)


def test_the_ends_of_an_interval_agree_with_its_verdict() -> None:
    verdict = Verdict(1.0, "", 2, 1000, (0.0, 0.0, 0.0), 0.031, 2.0, "higher")
    assert (
        verdict.describe()
        == "higher, +1.0 points (95\N{NO-BREAK SPACE}% interval +0.03 to +2.00; 2 seeds, 1,000 images)"
    )
    assert replace(verdict, low=-0.031, outcome="no difference shown").interval.endswith("0.0 to +2.0")


def test_one_seed_has_no_interval() -> None:
    verdict = compare({0: 0.9}, {0: 0.5}, images=10_000)
    assert (verdict.low, verdict.high, verdict.outcome, verdict.reason) == (None, None, None, ONE_SEED)
    assert verdict.describe() == "no verdict (one seed), +40.0 points (1 seed, 10,000 images)"


@pytest.mark.parametrize(
    ("first", "second", "images", "chance", "reason"),
    [
        (0.105, 0.098, 1000, 0.1, AT_FLOOR),
        (0.40, 0.098, 1000, 0.1, ""),
        (0.999, 0.998, 1000, 0.1, AT_CEILING),
        (0.999, 0.90, 1000, 0.1, ""),
        (0.9, 0.5, 20, 0.1, FEW_IMAGES),
    ],
)
def test_nothing_is_concluded_where_nothing_can_be(
    first: float, second: float, images: int, chance: float, reason: str
) -> None:
    sides = [by_seed(*(end + shift for shift in (0, 1e-4, 2e-4))) for end in (first, second)]
    verdict = compare(sides[0], sides[1], images=images, chance=chance)
    assert verdict.reason == reason
    assert (verdict.outcome is None) == bool(reason)
    assert (reason in verdict.describe()) == bool(reason) or not reason


def test_unequal_budgets_have_no_verdict() -> None:
    verdict = compare(by_seed(0.9, 0.9), by_seed(0.5, 0.5), images=5000, reason=UNEQUAL)
    assert verdict.outcome is None and "unequal budgets" in verdict.describe()


def test_a_family_is_tested_after_holm() -> None:
    base = by_seed(0.5, 0.502, 0.498, 0.501, 0.499)
    sides = [by_seed(*(base[seed] + shift for seed in base)) for shift in (0.1, 0.0165, 0.016, 0.0)]
    alone = [compare(side, base, images=10_000) for side in sides]
    assert [verdict.outcome for verdict in alone] == [*["higher"] * 3, "no difference shown"]
    family = compare_family(alone)
    assert [verdict.outcome for verdict in family] == ["higher", *["no difference shown"] * 3]
    # The images' part alone: the clearest of four is tested at 5 % / 4, the next one and all after it at 5 % / 3.
    widths = [((verdict.high or 0) - (verdict.low or 0)) / 2 for verdict in family]
    errors = [sqrt(verdict.variances[1]) for verdict in alone]
    expected = [
        quantile * error for quantile, error in zip((2.4984, 2.3946, 2.3946, 2.3946), errors, strict=True)
    ]
    assert widths == pytest.approx(expected, rel=1e-3)
    assert [verdict.rate for verdict in family] == pytest.approx([0.05 / 4, *[0.05 / 3] * 3])
    assert [verdict.interval.split("\N{NO-BREAK SPACE}")[0] for verdict in family] == ["98.8", *["98.3"] * 3]
    assert alone[0].interval.startswith("95\N{NO-BREAK SPACE}% interval +")
    assert compare_family([alone[0]]) == [alone[0]]
    one_seed = compare({0: 0.9}, {0: 0.5}, images=1000)
    assert compare_family([alone[0], one_seed]) == [alone[0], one_seed], "no test, so it costs nothing"


def test_leaders_are_all_that_are_not_shown_to_be_lower() -> None:
    sides = {
        "a": by_seed(0.900, 0.902, 0.901, 0.903, 0.899),
        "b": by_seed(0.901, 0.900, 0.902, 0.902, 0.899),
        "c": by_seed(0.700, 0.702, 0.701, 0.703, 0.699),
    }
    numbers = Numbers(
        dict(zip("abc", "abc", strict=True)), {n: {"": s} for n, s in sides.items()}, images=10_000
    )
    assert numbers.find_leaders("") == ("a", "b") and numbers.find_leaders("", lowest=True) == ("c",)
    one_seed = {name: {"": {0: side[0]}} for name, side in sides.items()}
    assert replace(numbers, values=one_seed).find_leaders("") == ("a", "b", "c")


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("stored", [True, False])
def test_false_verdicts_are_rare(seeds: int, stored: bool) -> None:
    """Between recipes of equal mean; docs/verdicts.md has 10,000 experiments and more images."""
    rng, false, experiments, images = np.random.default_rng(seeds), 0, 1000, 359
    for _ in range(experiments):
        easiness = 3.6 + 2 * rng.standard_normal(images)
        right = []
        for _ in range(2):
            own = easiness + 0.5 * rng.standard_normal(images)  # a recipe has its own difficult images
            logits = own + 0.2 * rng.standard_normal((seeds, 1))
            right.append(dict(enumerate(rng.random((seeds, images)) < 1 / (1 + np.exp(-logits)))))
        accuracy = [{seed: float(row.mean()) for seed, row in side.items()} for side in right]
        verdict = compare(
            accuracy[0], accuracy[1], images=images, right=(right[0], right[1]) if stored else None
        )
        false += verdict.shown
    assert false / experiments <= 0.055 + 2 * sqrt(0.055 * 0.945 / experiments)


def test_the_stated_power_is_that_of_the_table() -> None:
    rows = [line.strip("| ").split(" | ") for line in (ROOT / "docs/verdicts.md").read_text().splitlines()]
    power = {row[0]: row[3:] for row in rows if len(row) == 5 and row[1] == "359"}
    text = " ".join((ROOT / "pages/studies/verdict.md").read_text().split())
    three = "three seeds show a true difference of 2 points in {} of experiments and of 5 points in {}"
    assert three.format(*power["3"]) in text
    assert "five seeds in {} and {}, ten in {} and {}".format(*power["5"], *power["10"]) in text


def test_a_mean_s_interval_is_over_seeds_and_images() -> None:
    low, high = measure_interval([0.90, 0.92, 0.94], 10_000)
    half = sqrt(4.302653**2 * 0.0004 / 3 + 1.960201**2 * 0.92 * 0.08 / 10_000)
    assert (low, high) == pytest.approx((0.92 - half, 0.92 + half), abs=1e-6)
    low, high = measure_interval([0.5], 100)
    assert (low, high) == pytest.approx((0.5 - 1.984217 * 0.05, 0.5 + 1.984217 * 0.05), abs=1e-6)
