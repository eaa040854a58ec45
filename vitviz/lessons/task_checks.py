"""Check whether a stop's task is done, from the state of the page.

The list of checks is closed: a file holds a check's name and parameters, never code.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from vitviz.lessons.typed_tables import LessonError, build_dataclass, list_names
from vitviz.pin import Pin
from vitviz.text import cut

LinkValues = Mapping[str, str]
EMPTY_PAD = "drawing:"  # an image without strokes
FACTS = {  # reported by pages, because no link holds them
    "run": "progress of the selected training run, 0 to 1",
    "patches_left_out": "number of ablated patches",
    "heads_left_out": "number of ablated heads",
}


@dataclass(frozen=True)
class PageState:
    """The state of a page that a check sees: its slug, its link's parameters, and reported facts.

    link: the parameters 'model', 'step', 'image', 'pin', 'crop' and controls such as 'page.control'.
    grid: (rows, cols) of the model's patches; None if it has no patches.
    guessed: True if the stop's question has been answered.

    Raises:
        ValueError: if a fact is unknown.
    """

    page: str
    link: LinkValues
    grid: tuple[int, int] | None = None
    facts: Mapping[str, float] = field(default_factory=dict)
    guessed: bool = False

    def __post_init__(self) -> None:
        for name in self.facts.keys() - FACTS.keys():
            raise ValueError(f"expected a fact of {', '.join(FACTS)}, received {name!r}")

    @property
    def pin(self) -> Pin | None:
        """The pinned token; None if the link names none."""
        return Pin.parse(self.link.get("pin", ""), self.grid)


class Check(Protocol):
    """A condition that is true once a stop's task is done."""

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        """Return True if the task is done; `start` is the stop's own link."""


@dataclass(frozen=True)
class PageOpen:
    """The user has opened a page."""

    slug: str

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        return state.page == self.slug


@dataclass(frozen=True)
class ModelChosen:
    """The user has chosen the model `key`, or any other than at the start if `key` is ''."""

    key: str = ""

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        return _is_chosen(state.link.get("model"), self.key, start.get("model"))


@dataclass(frozen=True)
class ImageChosen:
    """The user has chosen the image `key`, or any other than at the start and an empty pad if `key` is ''."""

    key: str = ""

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        image = state.link.get("image")
        return image != EMPTY_PAD and _is_chosen(image, self.key, start.get("image"))


@dataclass(frozen=True)
class StepInRange:
    """The training step lies in a range.

    Raises:
        ValueError: if neither end is given.
    """

    at_least: int | None = None
    at_most: int | None = None

    def __post_init__(self) -> None:
        if self.at_least is None and self.at_most is None:
            raise ValueError("expected at_least or at_most, received neither")

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        return _is_in_range(state.link.get("step"), self.at_least, self.at_most)


@dataclass(frozen=True)
class TokenPinned:
    """The user has pinned the patch (row, col), counted from 1, a prefix token, or any other token than at the start.

    grid: patches along a side, if the page shows another grid than the model's own.

    Raises:
        ValueError: if a row comes without a column, or with a prefix token.
    """

    row: int | None = None
    col: int | None = None
    prefix: str = ""
    grid: int | None = None

    def __post_init__(self) -> None:
        if (self.row is None) != (self.col is None) or (self.prefix and self.row is not None):
            raise ValueError("expected row and col, or prefix, or neither")
        if self.prefix:
            Pin(None, self.prefix)
        if self.grid is not None and self.grid < 1:
            raise ValueError(f"expected a grid of at least one patch, received {self.grid}")
        if self.row is not None and self.col is not None and min(self.row, self.col) < 1:
            raise ValueError(f"expected row and col of at least 1, received {self.row} and {self.col}")

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        pin = state.pin
        if pin is None:
            return False
        if self.prefix:
            return pin.prefix == self.prefix
        if self.row is not None and self.col is not None:
            grid = state.grid if self.grid is None else (self.grid, self.grid)
            if pin.place is None or grid is None:
                return False
            return pin.row_col(grid) == (self.row - 1, self.col - 1)
        return pin != Pin.parse(start.get("pin", ""), state.grid)


@dataclass(frozen=True)
class ControlSet:
    """A page's control has a value, lies in a range, or has any other value than at the start.

    Raises:
        ValueError: if the key is not a control's, or both a value and a range are given.
    """

    key: str
    value: str = ""
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if "." not in self.key:
            raise ValueError(f"expected a key like 'page.control', received {self.key!r}")
        if self.value and (self.at_least is not None or self.at_most is not None):
            raise ValueError("expected a value or a range, received both")

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        text = state.link.get(self.key)
        if self.at_least is not None or self.at_most is not None:
            return _is_in_range(text, self.at_least, self.at_most)
        return _is_chosen(text, self.value, start.get(self.key))


@dataclass(frozen=True)
class RunProgress:
    """The user's training run has reached a fraction of its length.

    Raises:
        ValueError: if the fraction does not lie in (0, 1].
    """

    fraction: float

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1:
            raise ValueError(f"expected fraction in (0, 1], received {self.fraction:g}")

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        return state.facts.get("run", 0.0) >= self.fraction


@dataclass(frozen=True)
class FactReached:
    """A fact of `FACTS` that a page reports has reached a number.

    Raises:
        ValueError: if the fact is unknown.
    """

    what: str
    at_least: float = 1.0

    def __post_init__(self) -> None:
        if self.what not in FACTS:
            raise ValueError(f"expected a fact of {', '.join(FACTS)}, received {self.what!r}")

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        return state.facts.get(self.what, -math.inf) >= self.at_least


@dataclass(frozen=True)
class PredictionMade:
    """The user has answered the stop's question, correctly or not."""

    def is_done(self, state: PageState, start: LinkValues) -> bool:
        return state.guessed


CHECKS: dict[str, type[Any]] = {
    "page": PageOpen,
    "model": ModelChosen,
    "picture": ImageChosen,
    "step": StepInRange,
    "pinned": TokenPinned,
    "control": ControlSet,
    "run_past": RunProgress,
    "fact": FactReached,
    "guess_made": PredictionMade,
}
CHECK_NAMES = {check: name for name, check in CHECKS.items()}


def read_check(table: Mapping[str, Any], place: str) -> Check:
    """Return the check that a file's table describes: its `name`, and its parameters beside it.

    Raises:
        LessonError: if the name is unknown or a parameter is wrong.
    """
    name = table.get("name")
    if not isinstance(name, str) or name not in CHECKS:
        raise LessonError(
            f"{place}: expected name to be one of {list_names(CHECKS)}, received {cut(repr(name), 40)}"
        )
    parameters = {key: parameter for key, parameter in table.items() if key != "name"}
    check: Check = build_dataclass(CHECKS[name], parameters, place)
    return check


def _is_chosen(selected: str | None, expected: str, initial: str | None) -> bool:
    """Return True if the expected value is selected or, if none is expected, another value than the initial one."""
    return selected == expected if expected else selected is not None and selected != initial


def _is_in_range(text: str | None, low: float | None, high: float | None) -> bool:
    try:
        number = float(text or "")
    except ValueError:
        return False
    return (low is None or number >= low) and (high is None or number <= high)
