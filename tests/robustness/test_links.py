"""No query parameter of any page ends the page in an error; for long: `python -m tests.robustness.fuzz links`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.robustness.fuzz.links import Parameters, opener, page_links
from vitviz.text import parse_float, parse_int

TOGETHER = ("9" * 400, "1e400", "²", "\x00")


@pytest.mark.slow
def test_every_parameter_of_every_page_takes_hostile_numbers(tmp_path: Path) -> None:
    parameters = Parameters()
    take = opener(tmp_path, parameters)
    for data in page_links():
        take(data)
    links = [
        (slug, dict.fromkeys(sorted(known), value))
        for slug, known in parameters.values.items()
        for value in TOGETHER
    ]
    assert sum(map(len, parameters.values.values())) > 250  # else too few parameters were recorded
    errors = []
    for slug, query in links:
        try:
            take(f"{slug}?{urlencode(query)}".encode())
        except AssertionError as error:
            errors.append(f"{error}")
    assert errors == []


@pytest.mark.parametrize(
    "text", ["", " 1", "1\n", "1_0", "٣", "²", "nan", "inf", "1e400", "9" * 400, "9" * 4301, "\0"]
)
def test_text_that_is_no_plain_number_is_none(text: str) -> None:
    assert parse_int(text) is None
    assert parse_float(text) is None


@pytest.mark.parametrize("text", ["0", "-0", "1.", ".5", "-1e-05", "0.30000000000000004", "9" * 18])
def test_plain_numbers_are_parsed(text: str) -> None:
    assert parse_float(text) == float(text)


def test_integers_are_parsed() -> None:
    assert [parse_int(text) for text in ("07", "-1", "+3", "1.5")] == [7, -1, 3, None]
