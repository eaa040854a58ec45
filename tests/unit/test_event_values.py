"""Check that invalid values from the browser are rejected."""

from __future__ import annotations

import pytest

from pages.lenses.attention.ablation import AblatableParts, Ablation
from pages.train.lab.flip_book import parse_moment
from pages.views import event_values
from vitviz.pin import Pin

NAN = float("nan")


@pytest.mark.parametrize("odd", [None, True, "1", [], {}, -1, 10**30, NAN, float("inf"), float("-inf")])
def test_what_is_no_number_is_none(odd: object) -> None:
    assert (
        event_values.read_index(odd) is None
        and event_values.read_index_pair([0, odd]) is None
        and event_values.read_index_pair(odd) is None
    )


def test_numbers_are_taken() -> None:
    assert (
        event_values.read_index(0),
        event_values.read_index(7.0),
        event_values.read_index_pair([1, 2]),
    ) == (0, 7, (1, 2))


@pytest.mark.parametrize(
    "odd", [None, 1, "", "x", "2,0", [NAN, 0], [0], [0, 0, 0], [[0], 0], [None, 0], {"x": 0}]
)
def test_what_is_no_pin_is_none(odd: object) -> None:
    assert event_values.read_pin(odd) is None


def test_pins_are_taken() -> None:
    assert event_values.read_pin("cls") == Pin(None, "cls") and event_values.read_pin(
        [0.5, 0.25]
    ) == event_values.read_pin("0.5,0.25") == Pin((0.5, 0.25))


def test_fields_of_another_kind_are_the_patterns() -> None:
    pattern = {"axis": "step", "smoothing": 0.6, "log": False}
    assert event_values.read_like({"axis": "epoch", "smoothing": 0, "log": True, "more": 1}, pattern) == {
        "axis": "epoch",
        "smoothing": 0,
        "log": True,
    }
    for odd in (
        None,
        [1],
        {"axis": 1, "smoothing": True, "log": 1},
        {"smoothing": NAN},
        {"smoothing": 10**30},
    ):
        assert event_values.read_like(odd, pattern) == pattern
    assert event_values.read_fields([1]) == {} and event_values.read_list("ab") == []


def test_what_is_left_out_is_there() -> None:
    sizes = AblatableParts((2, 2), (2, 1))
    odd = {"patches": [3, 4, -1, "x", NAN, [0]], "heads": [[0, 1], [1, 1], [9, 0], [0], None, "ab"]}
    assert Ablation.from_view(odd, sizes) == Ablation((3,), ((0, 1),))
    assert Ablation.from_view({"patches": 3, "heads": {"a": 1}}, sizes) == Ablation()


@pytest.mark.parametrize("odd", [None, [], {"run": 7}, {"run": "a", "step": "x"}, {"run": "a", "step": NAN}])
def test_what_is_no_moment_is_none(odd: object) -> None:
    assert parse_moment(odd) is None


def test_moments_are_taken() -> None:
    assert parse_moment({"run": "a", "step": 5, "follow": False}) == {"run": "a", "step": 5, "follow": False}
    assert parse_moment({"run": "a", "follow": True}) == {"run": "a", "step": None, "follow": True}
