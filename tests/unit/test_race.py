"""What a race's numbers say, and only when they say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.messages import read_race, unpack
from vitviz.analysis.race import (
    Racer,
    align_racers,
    create_racer,
    describe_race,
    explains_half,
    swapped_share,
)
from vitviz.plots.race import payload

CLASSES = ("left", "right", "above", "below")
SWAPS = [
    [5, 0, 5, 0],
    [0, 5, 0, 5],
    [5, 0, 5, 0],
    [0, 5, 0, 5],
]  # half right; left for above, right for below
SPREAD = [[5, 5, 0, 0], [5, 5, 0, 0], [0, 0, 5, 5], [0, 0, 5, 5]]  # half right, but left for right
RIGHT = [[10, 0, 0, 0], [0, 10, 0, 0], [0, 0, 10, 0], [0, 0, 0, 10]]


def record(accuracy: float, shuffled: float, confusion: Any = RIGHT, **changes: Any) -> dict[str, Any]:
    base = {"split": "test", "epoch": 3.0, "accuracy": accuracy, "shuffled": shuffled, "images": 40}
    return base | {"confusion": confusion} | changes


def of(name: str, *records: dict[str, Any]) -> Racer:
    return create_racer(name, name.upper(), np.array([[1.0, 2.0], [0.3, 0.4]]), records)


def test_a_curve_joins_evaluations_and_snapshots_in_order() -> None:
    found = of(
        "a", record(0.1, 0.1, epoch=0.0, split="validation"), record(0.9, 0.1, epoch=2.0, split="validation")
    )
    np.testing.assert_allclose(found.curve, [[0, 1, 2], [0.1, 0.3, 0.4]])  # an evaluation of more images wins
    assert found.measured is not None and found.measured.epoch == 2.0
    assert of("a", record(0.9, 0.2)).curve.shape == (2, 2)  # a test is no point of the curve
    assert create_racer("a", "A", np.empty((2, 0)), []).curve.shape == (2, 0)


@pytest.mark.parametrize(
    "damage",
    [{"accuracy": None}, {"confusion": 3}, {"confusion": [[1, 2]]}, {"images": "many"}, {"split": None}],
)
def test_a_damaged_record_is_left_out(damage: dict[str, Any]) -> None:
    whole = damage == {"split": None}  # any word names a split
    assert (of("a", record(0.5, 0.5) | damage).measured is not None) is whole


def test_summed_positions_are_explained_when_their_mistakes_are_swaps() -> None:
    swaps, spread, right = (
        of("sincos_2d_sum", record(a, 0.25, c)) for a, c in ((0.5, SWAPS), (0.5, SPREAD), (1, RIGHT))
    )
    for found, explained in ((swaps, True), (spread, False), (right, False)):
        assert found.measured is not None
        assert explains_half(found.measured, CLASSES) is explained
        assert ("PE(row) + PE(column)" in describe_race([found], CLASSES)) is explained
    assert swaps.measured is not None and swapped_share(swaps.measured, CLASSES) == 1.0
    assert not explains_half(swaps.measured, tuple("abcd"))
    other = of("learned", record(0.5, 0.25, SWAPS))  # another code that is half right for another reason
    assert "PE(row)" not in describe_race([other], CLASSES)


def test_the_caption_counts_gain_and_loss() -> None:
    returned = describe_race([of("none", record(0.25, 0.25)), of("learned", record(0.999, 0.26))], CLASSES)
    assert "Test accuracy after 3 epochs (40 images): NONE 25.0" in returned and "chance 25" in returned
    assert "Positions add 74.9 points (LEARNED over NONE; no verdict: one seed)" in returned
    assert "LEARNED drops from 99.9" in returned and "NONE: a change of less than 2 points" in returned
    unplaced = of("pixels", record(1.0, 1.0))
    mapped = describe_race(
        [of("none", record(0.25, 0.25)), of("learned", record(0.999, 0.26)), unplaced], CLASSES
    )
    assert "Positions add 74.9 points (LEARNED over NONE" in mapped, "a map of the pixels is no place"
    level = [of(name, record(1.0, 0.5)) for name in ("learned", "sincos_2d")]
    returned = describe_race([of("none", record(0.25060, 0.25)), *level], CLASSES)
    assert "Positions add 74.9 points (LEARNED and SINCOS_2D over NONE" in returned, "of 25.1 and 100 percent"
    alike = describe_race([of("none", record(0.9, 0.9)), of("learned", record(0.9, 0.895))], CLASSES)
    assert "Positions change accuracy by less than 2 points." in alike
    assert "NONE, LEARNED: a change of less than 2 points." in alike
    assert describe_race([of("none")], CLASSES) == ""


def test_of_models_near_guessing_positions_are_not_spoken_of() -> None:
    ten = tuple("0123456789")
    young = [of("none", record(0.10, 0.10)), of("learned", record(0.19, 0.18))]
    assert "close to chance" in describe_race(young, ten)
    older = [of("none", record(0.10, 0.10)), of("learned", record(0.21, 0.18))]
    assert "Positions add 11.0 points (LEARNED over NONE; no verdict: one seed)" in describe_race(older, ten)


def test_every_model_s_loss_is_named_and_none_is_reported_to_add_nothing_that_harms() -> None:
    """Regression test: small losses and negative gains are reported."""
    racers = [of("none", record(0.9, 0.9)), of("a", record(0.8, 0.5)), of("b", record(0.85, 0.8))]
    returned = describe_race([*racers, of("c", record(0.8, 0.83))], CLASSES)
    assert "accuracy with B is 5.0 points below that of NONE (no verdict: one seed)." in returned
    assert "A drops from 80.0" in returned and "; B loses 5.0 points, C gains 3.0 points; NONE: a" in returned
    going = [of(name, record(0.5, 0.5, split="validation")) for name in ("none", "b")]
    assert "so far." in describe_race(going, CLASSES)


def test_models_are_compared_at_one_moment() -> None:
    """While they take turns one may already be measured at the next snapshot."""
    early, late = (record(a, 0.2, epoch=at, split="validation") for a, at in ((0.3, 1.0), (0.6, 2.0)))
    racers = [of("a", early, late), of("b", early), of("c", early), of("d")]
    assert [(r.name, r.measured.epoch) for r in align_racers(racers) if r.measured] == [
        ("a", 1.0),
        ("b", 1.0),
        ("c", 1.0),
    ]
    lines, pairs = read_race(*unpack(payload(racers, 0.25, 6.0)))
    assert [*lines] == ["A", "B", "C", "D"]
    assert {title: pair["x"] for title, pair in pairs.items()} == {title: [30, 20] for title in "ABC"}


def test_models_with_snapshots_of_their_own_are_each_shown_at_their_newest() -> None:
    """Of ViT, Swin and CNN in one run two were shown, those whose epochs happened to meet, and the third never."""
    asked = {"a": (0.5, 2.0, 7.0), "b": (0.5, 1.5), "c": (0.5, 1.5)}
    racers = [
        of(name, *(record(0.1 * at, 0.1, epoch=at, split="validation") for at in epochs))
        for name, epochs in asked.items()
    ]
    assert [r.measured.epoch for r in align_racers(racers) if r.measured] == [7.0, 1.5, 1.5]
    assert "after 1.5 to 7 epochs" in unpack(payload(racers, 0.25, 20.0))[0]["charts"][1]["note"]


def test_a_model_that_stopped_at_its_aim_stays_beside_those_that_go_on() -> None:
    found = [record(0.4, 0.2, epoch=1.0, split="validation"), record(0.9, 0.2, epoch=2.0, split="validation")]
    stopped, going = of("a", *found, record(0.8, 0.2, epoch=2.0)), of("b", *found)
    later = record(0.95, 0.2, epoch=3.0, split="validation")
    shown = align_racers([stopped, going, of("c", *found, later)])
    assert [(r.measured.split, r.measured.epoch) for r in shown if r.measured] == [("validation", 2.0)] * 3


def test_models_that_end_at_different_epochs_are_compared_at_their_ends() -> None:
    racers = [of("a", record(0.9, 0.5, epoch=2.5)), of("b", record(0.8, 0.5, epoch=6.0))]
    assert align_racers(racers) == racers
    assert describe_race(racers, CLASSES).startswith(
        "Test accuracy after 2.5 to 6 epochs (40 images): A 90.0"
    )
    assert "after 2.5 to 6 epochs" in unpack(payload(racers, 0.25, 6.0))[0]["charts"][1]["note"]
    going = [*racers, *(of(name, record(0.4, 0.4, split="validation")) for name in "cde")]
    assert [r.name for r in align_racers(going)] == ["c", "d", "e"]


def test_the_message_holds_curves_pairs_and_chance() -> None:
    racers = [of("none", record(0.25, 0.25)), of("learned", record(0.9, 0.3))]
    header, arrays = unpack(payload(racers, 0.25, 3.0))
    lines, pairs = read_race(header, arrays)
    assert [pair["x"] for pair in pairs.values()] == [[25, 25], [90, 30]]
    assert pairs["LEARNED"]["meta"] == "90.0\N{NO-BREAK SPACE}%, shuffled 30.0\N{NO-BREAK SPACE}%"
    curves, results = (chart["layout"] for chart in header["charts"])
    intervals = [
        trace["x"] for trace in header["charts"][1]["data"] if trace.get("line", {}).get("width") == 1.5
    ]
    for share, ends in zip((0.9, 0.3), intervals[-2:], strict=True):  # whole and shuffled
        half = 2.0227 * (share * (1 - share) / 40) ** 0.5
        assert ends == pytest.approx([100 * max(share - half, 0), 100 * min(share + half, 1)], abs=1e-2)
    assert curves["shapes"][0]["y0"] == 25 and curves["xaxis"]["range"] == [0, 3]
    assert [(mark["x0"], round((mark["y0"] + mark["y1"]) / 2)) for mark in results["shapes"]] == [
        (25, 0),
        (25, 1),
    ]
    assert header["charts"][1]["note"] == "40 test images, after 3 epochs; lines: 95 % intervals"
    assert lines["LEARNED"]["x"] == [1, 2] and lines["LEARNED"]["y"] == pytest.approx([30, 40])
    assert len({line["line"]["color"] for line in lines.values()}) == 2
    assert len({line["line"]["dash"] for line in lines.values()}) == 2
    empty = create_racer("a", "A", np.empty((2, 0)), [])
    (waiting,) = unpack(payload([empty], 0.1, 1.0, "soon"))[0]["charts"][0]["layout"]["annotations"][1:]
    assert waiting["text"] == "soon"
