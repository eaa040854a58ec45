"""A question to the class: what is asked for, of which model and picture; what was found; what was answered."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vitviz.lessons.lesson import LONGEST_PROMPT, Link
from vitviz.lessons.measures import NAMES, read_measure
from vitviz.lessons.question_kinds import NEAR, Choose, Drag, Kind, Measure, Measured, Point
from vitviz.lessons.typed_tables import LessonError

MOST_OPTIONS = 40
MOST_CELLS = 4096
LONGEST_OPTION = 80
LONGEST_WORDS = 800
MOST_BINS = 10
_KINDS: dict[str, type[Any]] = {"choose": Choose, "drag": Drag, "point": Point}


@dataclass(frozen=True)
class Asked:
    """What a class is asked.

    about: model, step and picture in words; model, step, image, crop: as a link names them, to measure it by.
    proof: what the page shows once it is measured; see `vitviz.lessons.lesson.Question`.

    Raises:
        ValueError: if it is no question that a class can be asked.
    """

    prompt: str
    kind: Kind
    measure: Measure
    about: str
    model: str
    step: int
    image: str
    crop: float = 0.5
    proof: Link = Link("home")

    def __post_init__(self) -> None:
        if not self.prompt.strip() or len(self.prompt) > LONGEST_PROMPT:
            raise ValueError(f"a question has 1 to {LONGEST_PROMPT} characters, received {len(self.prompt)}")
        if isinstance(self.kind, Choose) and not 2 <= len(self.kind.options) <= MOST_OPTIONS:
            raise ValueError(
                f"a class chooses from 2 to {MOST_OPTIONS} options, received {len(self.kind.options)}"
            )
        if isinstance(self.kind, Drag) and not (
            self.kind.step > 0
            and self.kind.low < self.kind.high
            and math.isfinite(self.kind.high - self.kind.low)
        ):
            raise ValueError(f"a scale goes upwards in steps, received {self.kind}")
        if isinstance(self.kind, Point) and not 1 <= self.kind.grid[0] * self.kind.grid[1] <= MOST_CELLS:
            raise ValueError(
                f"a class points at one of up to {MOST_CELLS:,} patches, received {self.kind.grid}"
            )

    def __str__(self) -> str:
        """As `read_asked` reads it."""
        name = next(name for name, kind in _KINDS.items() if isinstance(self.kind, kind))
        values = {
            "prompt": self.prompt,
            "kind": {"kind": name, **asdict(self.kind)},
            "measure": {"measure": NAMES[type(self.measure)], **asdict(self.measure)},  # type: ignore[call-overload]
            "proof": str(self.proof),
        }
        beside = {key: getattr(self, key) for key in ("about", "model", "step", "image", "crop")}
        return json.dumps(values | beside)


def read_asked(text: str) -> Asked | None:
    """What the file holds; None where it holds no question."""
    try:
        values = json.loads(text)
        kind, measure = dict(values["kind"]), dict(values["measure"])
        return Asked(
            prompt=str(values["prompt"]),
            kind=_kind(str(kind.pop("kind")), kind),
            measure=read_measure(str(measure.pop("measure")), measure, "the class's question"),
            about=str(values["about"])[:LONGEST_WORDS],
            model=str(values["model"]),
            step=int(values["step"]),
            image=str(values["image"]),
            crop=float(values["crop"]),
            proof=Link.parse(str(values["proof"])),
        )
    except (ValueError, TypeError, KeyError, AttributeError, LessonError, RecursionError):
        return None


def _kind(name: str, values: Mapping[str, Any]) -> Kind:
    if name == "choose":
        return Choose(tuple(str(option)[:LONGEST_OPTION] for option in values["options"][: MOST_OPTIONS + 1]))
    if name == "drag":
        low, high, step = (float(values[key]) for key in ("low", "high", "step"))
        return Drag(low, high, step, str(values["unit"])[:LONGEST_OPTION])
    rows, cols = values["grid"]
    return Point((int(rows), int(cols)))


def checked(kind: Kind, value: float) -> float:
    """An answer as it is counted: an option, a cell, or the scale's nearest step.

    Raises:
        ValueError: if it is no answer to this.
    """
    if isinstance(kind, Drag):
        if not kind.low <= value <= kind.high:
            raise ValueError(f"an answer lies in {kind.low:g}..{kind.high:g}, received {value:g}")
        return min(kind.high, round(kind.low + round((value - kind.low) / kind.step) * kind.step, 9))
    most = len(kind.options) if isinstance(kind, Choose) else kind.grid[0] * kind.grid[1]
    if value not in range(most):
        raise ValueError(f"an answer is one of {most}, received {value:g}")
    return float(value)


def found_text(found: Measured) -> str:
    """What was measured, as `read_found` reads it."""
    words = found.words[:LONGEST_WORDS]
    return json.dumps({"value": float(found.value), "words": words, "level": [*map(float, found.level)]})


def read_found(text: str, kind: Kind) -> Measured | None:
    """What the file holds; None where it holds nothing that was measured."""
    try:
        values = json.loads(text)
        right = [float(value) for value in (values["value"], *values.get("level", ()))]
        value, *level = right if isinstance(kind, Drag) else (checked(kind, value) for value in right)
        return Measured(value, str(values["words"])[:LONGEST_WORDS], level=tuple(level))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


# ---------------------------------------------------------------- what was answered


@dataclass(frozen=True)
class Bar:
    """How many gave one of the answers, or one between two ends of a scale."""

    label: str
    count: int
    measured: bool = False  # whether what was measured lies here
    own: bool = False  # whether the visitor's own answer does


def bars(kind: Kind, tally: Mapping[float, int], found: Measured | None, own: float | None) -> list[Bar]:
    """The answers as a histogram: one bar an option or cell, up to ten along a scale."""
    if isinstance(kind, Drag):
        return _along(kind, tally, None if found is None else found.value, own)
    names = (
        kind.options
        if isinstance(kind, Choose)
        else [kind.said(i) for i in range(kind.grid[0] * kind.grid[1])]
    )
    right = () if found is None else found.right
    return [Bar(name, tally.get(float(i), 0), i in right, own == i) for i, name in enumerate(names)]


def _along(kind: Drag, tally: Mapping[float, int], measured: float | None, own: float | None) -> list[Bar]:
    steps = round((kind.high - kind.low) / kind.step)
    count = max(1, min(MOST_BINS, steps))
    width = (kind.high - kind.low) / count

    def place(value: float) -> int:
        """The last end belongs to the last bar; what was measured beyond an end stands at that end."""
        return min(max(int((value - kind.low) / width + 1e-9), 0), count - 1)

    counts = [0] * count
    for value, times in tally.items():
        counts[place(value)] += times
    return [
        Bar(
            f"{kind.said(kind.low + i * width)} to {kind.said(kind.low + (i + 1) * width)}",
            counts[i],
            measured is not None and place(measured) == i,
            own is not None and place(own) == i,
        )
        for i in range(count)
    ]


def summary(kind: Kind, tally: Mapping[float, int], found: Measured) -> str:
    """'7 of 12 came close': how the class did, from its own numbers."""
    answers = sum(tally.values())
    if not answers:
        return "Nobody has answered."
    if isinstance(kind, Drag):
        near = NEAR * (kind.high - kind.low)
        right = sum(times for value, times in tally.items() if abs(value - found.value) <= near + 1e-9)
        return f"{right} of {answers} came close: at most {kind.said(near)} away from it."
    right = sum(tally.get(float(value), 0) for value in found.right)
    what = "said so" if isinstance(kind, Choose) else "pointed at it"
    return f"{right} of {answers} {what}."
