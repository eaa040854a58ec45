"""Define a question to a class and its JSON form, and summarize the answers in a histogram and a sentence."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from vitviz.lessons.authored_questions import MAX_ITEMS
from vitviz.lessons.lesson import MAX_PROMPT_LENGTH, Link
from vitviz.lessons.measures import MEASURE_NAMES, read_measure
from vitviz.lessons.question_kinds import (
    Answer,
    AnswerKind,
    Arrange,
    Choose,
    Drag,
    Measure,
    MeasuredAnswer,
    Point,
    Write,
)
from vitviz.lessons.typed_tables import LessonError

MAX_OPTIONS = 40
MAX_CELLS = 4096
MAX_OPTION_LENGTH = 80
MAX_WORDS_LENGTH = 800
MAX_BINS = 10
_KINDS: dict[str, type[Any]] = {
    "choose": Choose,
    "drag": Drag,
    "point": Point,
    "arrange": Arrange,
    "write": Write,
}


@dataclass(frozen=True)
class ClassQuestion:
    """A question to a class.

    about: model, step and image in words. model, step, image, crop: as in a link; the answer is measured on them.
    proof: query parameters that the page applies after measuring; see `vitviz.lessons.lesson.Question`.
    before: their values while the class was asked.

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
    before: Mapping[str, str] = field(default_factory=dict)

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
        if (
            isinstance(self.kind, Arrange)
            and not 2 <= len({*self.kind.items}) == len(self.kind.items) <= MAX_ITEMS
        ):
            raise ValueError(f"expected 2 to {MAX_ITEMS} different items, received {len(self.kind.items)}")

    def __str__(self) -> str:
        name = next(name for name, kind in _KINDS.items() if isinstance(self.kind, kind))
        content = {
            "prompt": self.prompt,
            "kind": {"kind": name, **asdict(self.kind)},
            "measure": {"measure": MEASURE_NAMES[type(self.measure)], **asdict(self.measure)},  # type: ignore[call-overload]
            "proof": str(self.proof),
            "before": str(Link("home", tuple(self.before.items()))),
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
            before=Link.parse(str(values.get("before", "home"))).values,
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
        tolerance = values.get("tolerance")
        unit = str(values["unit"])[:MAX_OPTION_LENGTH]
        return Drag(low, high, step, unit, None if tolerance is None else float(tolerance))
    if name == "arrange":
        return Arrange(tuple(str(entry)[:MAX_OPTION_LENGTH] for entry in values["items"][: MAX_ITEMS + 1]))
    if name == "write":
        return Write()
    rows, cols = values["grid"]
    return Point((int(rows), int(cols)))


def serialize_measured_answer(measured: MeasuredAnswer) -> str:
    words = measured.words[:MAX_WORDS_LENGTH]
    return json.dumps(
        {
            "value": None if measured.value is None else float(measured.value),
            "words": words,
            "level": [*map(float, measured.level)],
            "label": measured.label,
        }
    )


def parse_measured_answer(text: str, kind: AnswerKind) -> MeasuredAnswer | None:
    """Return the measured answer in a stored text; None if it is invalid."""
    try:
        values = json.loads(text)
        words = str(values["words"])[:MAX_WORDS_LENGTH]
        label = str(values.get("label", "Measured"))[:MAX_OPTION_LENGTH]
        if values["value"] is None:
            return MeasuredAnswer(None, words, label=label)
        right = [float(answer) for answer in (values["value"], *values.get("level", ()))]
        answer, *level = right if isinstance(kind, Drag) else map(float, map(kind.validate, right))
        return MeasuredAnswer(answer, words, level=tuple(level), label=label)
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
    kind: AnswerKind, tally: Mapping[float, int], measured: MeasuredAnswer | None, own_answer: Answer | None
) -> list[HistogramBar]:
    """Return one bar per option or cell, up to ten along a scale, or one per number or order that was answered."""
    right = () if measured is None else measured.right
    if isinstance(kind, Drag) and not kind.is_typed:
        return _build_scale_histogram(kind, tally, right[0] if right else None, own_answer)
    if isinstance(kind, Choose | Point):
        answers, others = [float(place) for place in range(kind.count_answers())], []
    else:
        frequent = sorted({*tally, *right}, key=lambda answer: (answer not in right, -tally.get(answer, 0)))
        answers, others = sorted(frequent[:MAX_BINS]), frequent[MAX_BINS:]
    bars = [
        HistogramBar(kind.format_answer(answer), tally.get(answer, 0), answer in right, own_answer == answer)
        for answer in answers
    ]
    return bars + (
        [HistogramBar("other answers", sum(tally[answer] for answer in others), own=own_answer in others)]
        if others
        else []
    )


def _build_scale_histogram(
    kind: Drag, tally: Mapping[float, int], measured: float | None, own_answer: Answer | None
) -> list[HistogramBar]:
    count = max(1, min(MAX_BINS, round((kind.high - kind.low) / kind.step)))
    width = (kind.high - kind.low) / count

    def find_bin(answer: Answer) -> int:
        """Return the bar of a value; values beyond an end belong to the outer bar."""
        return min(max(int((float(answer) - kind.low) / width + 1e-9), 0), count - 1)

    counts = [0] * count
    for answer, times in tally.items():
        counts[find_bin(answer)] += times
    return [
        HistogramBar(
            f"{kind.format_answer(kind.low + i * width)} to {kind.format_answer(kind.low + (i + 1) * width)}",
            counts[i],
            measured is not None and find_bin(measured) == i,
            own_answer is not None and find_bin(own_answer) == i,
        )
        for i in range(count)
    ]


def describe_answers(kind: AnswerKind, tally: Mapping[float, int], measured: MeasuredAnswer) -> str:
    """Return a sentence with the number of correct or close answers; '' if no answer is right or wrong."""
    answers = sum(tally.values())
    if not answers:
        return "No answers yet."
    if not measured.right:
        return ""
    right = sum(times for answer, times in tally.items() if kind.is_right(answer, measured))
    if not isinstance(kind, Drag):
        return f"{right} of {answers} {'chose this patch' if isinstance(kind, Point) else 'predicted it'}."
    if kind.tolerance == 0:
        return f"{right} of {answers} were exact."
    verb = "right" if kind.is_typed else "close"
    distance = kind.format_answer(kind.close_distance).replace("%", "points")
    number = "measured number" if measured.is_measured else "correct answer"
    return f"{right} of {answers} were {verb}: within {distance} of the {number}."
