"""How the app sees that something was done: a closed list of named checks, each decided on what is shown.

A file names one and its parameters; nothing else of a file is ever run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from vitviz.lessons.page_state import FACTS, Shown
from vitviz.lessons.typed_tables import LessonError, build, listed
from vitviz.pin import Pin
from vitviz.text import cut

Link = Mapping[str, str]


class Check(Protocol):
    """Whether what a stop asks for is done."""

    def holds(self, shown: Shown, began: Link) -> bool:
        """Decides on what is shown; `began` is the stop's own link."""


@dataclass(frozen=True)
class Page:
    """The visitor is on a page."""

    slug: str

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it is that page."""
        return shown.page == self.slug


@dataclass(frozen=True)
class Model:
    """A model is chosen: this one, or another than the stop began with."""

    key: str = ""

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it is chosen."""
        return _chosen(shown.link.get("model"), self.key, began.get("model"))


@dataclass(frozen=True)
class Picture:
    """A picture is chosen: this one, or another than the stop began with."""

    key: str = ""

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it is chosen."""
        return _chosen(shown.link.get("image"), self.key, began.get("image"))


@dataclass(frozen=True)
class Step:
    """The step of training lies in a range.

    Raises:
        ValueError: if neither end is given.
    """

    at_least: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        _one_of(at_least=self.at_least, at_most=self.at_most)

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it does."""
        return _in_range(shown.link.get("step"), self.at_least, self.at_most)


@dataclass(frozen=True)
class Pinned:
    """A token is pinned: the patch (row, col), which count from 1; a prefix token; or another than at the beginning.

    grid: patches along a side, where a page shows another grid than the model's own.

    Raises:
        ValueError: if a row comes without a column, or with a prefix token.
    """

    row: int | None = None
    col: int | None = None
    prefix: str = ""
    grid: int | None = None

    def __post_init__(self) -> None:
        if (self.row is None) != (self.col is None) or (self.prefix and self.row is not None):
            raise ValueError("a pin is row and col, or prefix, or neither")
        if self.prefix:
            Pin(None, self.prefix)
        if self.grid is not None and self.grid < 1:
            raise ValueError(f"a grid has at least one patch, received {self.grid}")
        if self.row is not None and self.col is not None and min(self.row, self.col) < 1:
            raise ValueError(f"row and col count from 1, received {self.row} and {self.col}")

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it is pinned."""
        pin = shown.pin
        if pin is None:
            return False
        if self.prefix:
            return pin.prefix == self.prefix
        if self.row is not None and self.col is not None:
            grid = shown.grid if self.grid is None else (self.grid, self.grid)
            if pin.place is None or grid is None:
                return False
            return pin.row_col(grid) == (self.row - 1, self.col - 1)
        return pin != Pin.parse(began.get("pin", ""))


@dataclass(frozen=True)
class Control:
    """A page's control has a value, lies in a range, or has another value than at the beginning.

    Raises:
        ValueError: if the key is no control's, or a value and a range are given.
    """

    key: str
    value: str = ""
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if "." not in self.key:
            raise ValueError(f"a control is called 'page.control', received {self.key!r}")
        if self.value and (self.at_least is not None or self.at_most is not None):
            raise ValueError("a control has a value or a range, received both")

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it has."""
        now = shown.link.get(self.key)
        if self.at_least is not None or self.at_most is not None:
            return _in_range(now, self.at_least, self.at_most)
        return _chosen(now, self.value, began.get(self.key))


@dataclass(frozen=True)
class RunPast:
    """A run of the visitor's own has come so far, as a share of its length.

    Raises:
        ValueError: if it is no share.
    """

    fraction: float

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"fraction lies in (0, 1], received {self.fraction:g}")

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it has."""
        return shown.facts.get("run", 0.0) >= self.fraction


@dataclass(frozen=True)
class Fact:
    """What a page hands over, one of `FACTS`, is at least so much.

    Raises:
        ValueError: if pages hand over no such fact.
    """

    what: str
    at_least: float = 1.0

    def __post_init__(self) -> None:
        if self.what not in FACTS:
            raise ValueError(f"a fact is one of {', '.join(FACTS)}, received {self.what!r}")

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it is."""
        return shown.facts.get(self.what, -math.inf) >= self.at_least


@dataclass(frozen=True)
class GuessMade:
    """The stop's question has been answered, rightly or not."""

    def holds(self, shown: Shown, began: Link) -> bool:
        """Whether it has."""
        return shown.guessed


CHECKS: dict[str, type[Any]] = {
    "page": Page,
    "model": Model,
    "picture": Picture,
    "step": Step,
    "pinned": Pinned,
    "control": Control,
    "run_past": RunPast,
    "fact": Fact,
    "guess_made": GuessMade,
}
NAMES = {check: name for name, check in CHECKS.items()}


def read_check(given: Mapping[str, Any], place: str) -> Check:
    """A check from a file's table: its `name`, and its parameters beside it.

    Raises:
        LessonError: if it is none of `CHECKS`, or its parameters are not its own.
    """
    name = given.get("name")
    if not isinstance(name, str) or name not in CHECKS:
        raise LessonError(f"{place}: the name is one of {listed(CHECKS)}, received {cut(repr(name), 40)}")
    check: Check = build(CHECKS[name], {key: value for key, value in given.items() if key != "name"}, place)
    return check


def _chosen(now: str | None, wanted: str, before: str | None) -> bool:
    """Whether a value is the wanted one; where none is named, whether it is another than before."""
    return now == wanted if wanted else now is not None and now != before


def _in_range(now: str | None, low: float | None, high: float | None) -> bool:
    try:
        value = float(now or "")
    except ValueError:
        return False
    return (low is None or value >= low) and (high is None or value <= high)


def _one_of(**given: object) -> None:
    if all(value is None for value in given.values()):
        raise ValueError(f"one of {' and '.join(given)} is needed, received none")
