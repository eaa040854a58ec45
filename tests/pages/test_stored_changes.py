"""One knob, one slip: what a page draws, writes in a table or says is computed anew from the rows of its file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mean
from typing import Any

import pytest

from pages.studies import bug as slip_section
from pages.studies import hyperparameter as knob_section
from tests.pages.told import written
from tests.verdicts import recompute
from vitviz.analysis.one_change import Variant, describe_bug, describe_hyperparameter
from vitviz.experiments.bugs import BUGS, SEEDS
from vitviz.experiments.hyperparameters import BASES, HYPERPARAMETERS
from vitviz.experiments.result_file import read_result
from vitviz.lessons.experiment_measures import list_hyperparameter_variants

Row = dict[str, Any]
KNOBS_FOUND = read_result("one_knob_digits")
STORED = [name for name, knob in HYPERPARAMETERS.items() if knob.stored]


def reached(rows: Sequence[Any]) -> dict[int, float]:
    return {row["seed"]: row["test"] for row in rows if "test" in row}


def differences(rows: Sequence[Any], base: Sequence[Any]) -> list[float]:
    own, other = reached(rows), reached(base)
    return [100 * (own[seed] - other[seed]) for seed in sorted(own.keys() & other.keys())]


def interval(rows: Sequence[Any], base: Sequence[Any], images: int) -> list[float]:
    """The mean difference and its interval."""
    return [*(recompute(rows, base, images) or ())]


def drawn_like(shown: Variant, rows: Sequence[Any]) -> None:
    """The variant's numbers are the rows'."""
    assert shown.test == reached(rows) and shown.diverged == sum("diverged" in row for row in rows)
    assert shown.seconds == tuple(row["training_core_s"] for row in rows if "training_core_s" in row)
    assert {row["parameters"] for row in rows} == {shown.parameters}
    whole = [row["curve"] for row in rows if "test" in row]
    for place, height in enumerate(shown.curve[1]):
        assert height == pytest.approx(mean(curve[place][2] for curve in whole))


def said_of(text: str, shares: Sequence[float], points: Sequence[float]) -> None:
    """Every share and every number of points in a sentence is one of these; shares in [0, 1]."""
    text = text.replace("\N{NO-BREAK SPACE}", " ").replace("95 % interval", "")
    told = re.findall(r"([\d.]+) %", text)
    assert {*told} <= written((100 * share for share in shares), 2), text
    told = re.findall(r"(\d+\.\d)(?: points| to|;)", text)
    assert {*told} <= {f"{abs(point):.1f}" for point in points}, text


@pytest.mark.parametrize("name", STORED)
def test_every_number_of_a_knob_is_in_its_file(name: str) -> None:
    knob, rows = HYPERPARAMETERS[name], KNOBS_FOUND.rows
    base = [row for row in rows if row["knob"] == "base"]
    own = knob.base(BASES["digits"])
    by_value = {
        f"{value}": base if value == own else [r for r in rows if r["knob"] == name and r["value"] == value]
        for value in knob.values
    }
    shown = list_hyperparameter_variants(KNOBS_FOUND, knob)
    assert [one.name for one in shown] == [value for value, found in by_value.items() if found]
    assert len(shown) > 1, "a stored knob has values to compare"
    for one in shown:
        drawn_like(one, by_value[one.name])
    columns = knob_section.build_columns(shown, knob_section.get_base_name(knob))
    for place, one in enumerate(shown):
        tests, gaps = list(reached(by_value[one.name]).values()), differences(by_value[one.name], base)
        if tests:
            ends = [columns[head][place] for head in ("Mean", "Lowest", "Highest")]
            assert ends == pytest.approx([mean(tests), min(tests), max(tests)])
            assert columns["Seeds"][place] == len(tests)
        if gaps and f"{own}" in by_value and by_value[f"{own}"]:
            assert columns[knob_section.DIFFERENCE][place] == pytest.approx(mean(gaps))
    points = [point for found in by_value.values() for point in interval(found, base, 359)]
    means = [mean(reached(found).values()) for found in by_value.values() if reached(found)]
    text = describe_hyperparameter(shown, knob_section.get_base_name(knob))
    said_of(re.sub(r"95\s% interval [^;]+;", "", text), means, points)


@pytest.mark.parametrize("name", BUGS)
@pytest.mark.parametrize("dataset", SEEDS)
def test_every_number_of_a_slip_is_in_its_file(dataset: str, name: str) -> None:
    """As 'One bug' draws it, and 'Spot the bug', which says the same sentence."""
    found, slip = read_result(f"one_slip_{dataset}"), BUGS[name]
    right = [r for r in found.rows if r["slip"] == "mended" and r["family"] == slip.family]
    wrong = [r for r in found.rows if r["slip"] == name]
    sides, rows = slip_section.load_pair(found, name)
    columns = slip_section.build_columns(found)
    if not (right and wrong):
        assert len(sides) < 2 and slip.title not in columns["Bug"]
        return
    for side, own in zip(sides, (right, wrong), strict=True):
        drawn_like(side, own)
    assert rows == [*right, *wrong]
    images = {"digits": 359, "shapes": 2_000}[dataset]
    points = interval(wrong, right, images)
    place = columns["Bug"].index(slip.title)
    assert [columns[head][place] for head in slip_section.DIFFERENCES] == pytest.approx(points, abs=1e-3)
    ends = [mean(reached(side).values()) for side in (right, wrong)]
    text = describe_bug(sides[1], sides[0])
    said_of(text, ends, points)
    outcome = columns["Verdict"][place]
    if outcome in ("lower", "higher"):
        assert points[1] > 0 if outcome == "higher" else points[2] < 0, text
    assert f"{outcome}" in text
