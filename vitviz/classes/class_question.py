"""Define a question to a class and its JSON form, and summarize the answers in a histogram and a sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from vitviz.lessons.lesson import MAX_PROMPT_LENGTH, Link
from vitviz.lessons.measures import MEASURE_NAMES, read_measure
from vitviz.lessons.question_kinds import (
    CLOSE_SHARE,
    AnswerKind,
    Choose,
    Drag,
    Measure,
    MeasuredAnswer,
    Point,
)
from vitviz.lessons.typed_tables import LessonError

MAX_OPTIONS = 40
MAX_CELLS = 4096
MAX_OPTION_LENGTH = 80
MAX_WORDS_LENGTH = 800
MAX_BINS = 10
_KINDS: dict[str, type[Any]] = {"choose": Choose, "drag": Drag, "point": Point}


@dataclass(frozen=True)
class ClassQuestion:
    """A question to a class.

    about: model, step and image in words. model, step, image, crop: as in a link; the answer is measured on them.
    proof: query parameters that the page applies after measuring; see `vitviz.lessons.lesson.Question`.

    Raises:
        ValueError: if a text, the options, the scale or the grid are out of bounds.
    """

    prompt: str
    kind: AnswerKind
    measure: Measure
    about: str
    model: str
    step: int
    image: str
    crop: float = 0.5
    proof: Link = Link("home")

    def __post_init__(self) -> None:
        if not self.prompt.strip() or len(self.prompt) > MAX_PROMPT_LENGTH:
            raise ValueError(
                f"expected a question of 1 to {MAX_PROMPT_LENGTH} characters, received {len(self.prompt)}"
            )
        if isinstance(self.kind, Choose) and not 2 <= len(self.kind.options) <= MAX_OPTIONS:
            raise ValueError(f"expected 2 to {MAX_OPTIONS} options, received {len(self.kind.options)}")
        if isinstance(self.kind, Drag) and not (
            self.kind.step > 0
            and self.kind.low < self.kind.high
            and math.isfinite(self.kind.high - self.kind.low)
        ):
            raise ValueError(f"expected a finite ascending scale, received {self.kind}")
        if isinstance(self.kind, Point) and not 1 <= self.kind.grid[0] * self.kind.grid[1] <= MAX_CELLS:
            raise ValueError(f"expected a grid of up to {MAX_CELLS:,} patches, received {self.kind.grid}")

    def __str__(self) -> str:
        name = next(name for name, kind in _KINDS.items() if isinstance(self.kind, kind))
        content = {
            "prompt": self.prompt,
            "kind": {"kind": name, **asdict(self.kind)},
            "measure": {"measure": MEASURE_NAMES[type(self.measure)], **asdict(self.measure)},  # type: ignore[call-overload]
            "proof": str(self.proof),
        }
        subject = {key: getattr(self, key) for key in ("about", "model", "step", "image", "crop")}
        return json.dumps(content | subject)


def parse_question(text: str) -> ClassQuestion | None:
    """Return the question in a stored text; None if it is invalid."""
    try:
        values = json.loads(text)
        kind, measure = dict(values["kind"]), dict(values["measure"])
        return ClassQuestion(
            prompt=str(values["prompt"]),
            kind=_parse_kind(str(kind.pop("kind")), kind),
            measure=read_measure(str(measure.pop("measure")), measure, "the class's question"),
            about=str(values["about"])[:MAX_WORDS_LENGTH],
            model=str(values["model"]),
            step=int(values["step"]),
            image=str(values["image"]),
            crop=float(values["crop"]),
            proof=Link.parse(str(values["proof"])),
        )
    except (ValueError, TypeError, KeyError, AttributeError, LessonError, RecursionError):
        return None


def _parse_kind(name: str, values: Mapping[str, Any]) -> AnswerKind:
    if name == "choose":
        return Choose(
            tuple(str(option)[:MAX_OPTION_LENGTH] for option in values["options"][: MAX_OPTIONS + 1])
        )
    if name == "drag":
        low, high, step = (float(values[key]) for key in ("low", "high", "step"))
        return Drag(low, high, step, str(values["unit"])[:MAX_OPTION_LENGTH])
    rows, cols = values["grid"]
    return Point((int(rows), int(cols)))


def validate_answer(kind: AnswerKind, value: float) -> float:
    """Return an answer as it is counted: an option, a cell, or the scale's nearest step.

    Raises:
        ValueError: if the answer is out of range.
    """
    if isinstance(kind, Drag):
        if not kind.low <= value <= kind.high:
            raise ValueError(f"expected an answer in {kind.low:g}..{kind.high:g}, received {value:g}")
        return min(kind.high, round(kind.low + round((value - kind.low) / kind.step) * kind.step, 9))
    count = len(kind.options) if isinstance(kind, Choose) else kind.grid[0] * kind.grid[1]
    if value not in range(count):
        raise ValueError(f"expected one of {count} answers, received {value:g}")
    return float(value)


def serialize_measured_answer(measured: MeasuredAnswer) -> str:
    words = measured.words[:MAX_WORDS_LENGTH]
    return json.dumps(
        {"value": float(measured.value), "words": words, "level": [*map(float, measured.level)]}
    )


def parse_measured_answer(text: str, kind: AnswerKind) -> MeasuredAnswer | None:
    """Return the measured answer in a stored text; None if it is invalid."""
    try:
        values = json.loads(text)
        right = [float(value) for value in (values["value"], *values.get("level", ()))]
        value, *level = right if isinstance(kind, Drag) else (validate_answer(kind, value) for value in right)
        return MeasuredAnswer(value, str(values["words"])[:MAX_WORDS_LENGTH], level=tuple(level))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


# ---------------------------------------------------------------- answers


@dataclass(frozen=True)
class HistogramBar:
    """The number of answers for one option or cell, or in one interval of a scale."""

    label: str
    count: int
    measured: bool = False  # the bar contains the measured answer
    own: bool = False  # the bar contains the user's answer


def build_histogram(
    kind: AnswerKind, tally: Mapping[float, int], measured: MeasuredAnswer | None, own: float | None
) -> list[HistogramBar]:
    """Return one bar per option or cell, or up to ten along a scale."""
    if isinstance(kind, Drag):
        return _build_scale_histogram(kind, tally, None if measured is None else measured.value, own)
    names = (
        kind.options
        if isinstance(kind, Choose)
        else [kind.format_answer(i) for i in range(kind.grid[0] * kind.grid[1])]
    )
    right = () if measured is None else measured.right
    return [HistogramBar(name, tally.get(float(i), 0), i in right, own == i) for i, name in enumerate(names)]


def _build_scale_histogram(
    kind: Drag, tally: Mapping[float, int], measured: float | None, own: float | None
) -> list[HistogramBar]:
    steps = round((kind.high - kind.low) / kind.step)
    count = max(1, min(MAX_BINS, steps))
    width = (kind.high - kind.low) / count

    def find_bin(value: float) -> int:
        """Return the bar of a value; values beyond an end belong to the outer bar."""
        return min(max(int((value - kind.low) / width + 1e-9), 0), count - 1)

    counts = [0] * count
    for value, times in tally.items():
        counts[find_bin(value)] += times
    return [
        HistogramBar(
            f"{kind.format_answer(kind.low + i * width)} to {kind.format_answer(kind.low + (i + 1) * width)}",
            counts[i],
            measured is not None and find_bin(measured) == i,
            own is not None and find_bin(own) == i,
        )
        for i in range(count)
    ]


def describe_answers(kind: AnswerKind, tally: Mapping[float, int], measured: MeasuredAnswer) -> str:
    """Return a sentence with the number of correct or close answers."""
    answers = sum(tally.values())
    if not answers:
        return "No answers yet."
    if isinstance(kind, Drag):
        near = CLOSE_SHARE * (kind.high - kind.low)
        right = sum(times for value, times in tally.items() if abs(value - measured.value) <= near + 1e-9)
        return f"{right} of {answers} were close: within {kind.format_answer(near)} of the measured number."
    right = sum(tally.get(float(value), 0) for value in measured.right)
    verb = "predicted it" if isinstance(kind, Choose) else "chose this patch"
    return f"{right} of {answers} {verb}."
