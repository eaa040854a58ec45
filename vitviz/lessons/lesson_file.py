"""A lesson as a TOML file: read as what it is, input from outside, and written so that it reads back the same."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from vitviz.lessons import measures, task_checks
from vitviz.lessons.lesson import Lesson, Link, Question, Stop
from vitviz.lessons.typed_tables import LessonError, listed
from vitviz.text import cut

T = TypeVar("T")
MOST_BYTES = 64 * 1024
LONGEST_LINE = 1600  # characters: a link is the longest
MOST_DOTS = 8  # outside the texts of a line: tomllib's time and memory grow with the square of a key's parts
MOST_DOTS_OF_FILE = 2000  # a dotted key on every line costs tomllib half a second
MOST_DEPTH = 16  # brackets that are open at once: tomllib calls itself for each
_TOML = (
    re.compile(  # a text or a comment is one match, also where it does not end; then what counts outside them
        r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
        r"|'''.*?(?:'{3,5}|\Z)"
        r'|"(?:\\.|[^"\\\n])*"?'
        r"|'[^'\n]*'?"
        r"|\#[^\n]*"
        r"|[.\[\]{}\n]",
        re.DOTALL,
    )
)
_TOP = {"title": str, "about": str, "minutes": int, "stop": list}
_STOP = {"title": str, "link": str, "words": str, "task": str, "check": dict, "question": dict}
_QUESTION = {"prompt": str, "measure": str, "with": dict, "proof": str}
_MAY_LACK = ("about", "minutes", "question", "with", "proof")


def read_lesson(data: bytes, slugs: Collection[str]) -> Lesson:
    """The lesson of a file.

    Args:
        data: as it came.
        slugs: of the pages that a stop may lead to.

    Raises:
        LessonError: if the file is too large, no TOML, or holds anything but a lesson: a sentence that names the place.
    """
    top = _table(_parsed(data), _TOP, "the lesson")
    stops = []
    for number, given in enumerate(top.pop("stop"), start=1):
        stops.append(_stop(given, slugs, f"stop {number}"))
    return _made(Lesson, "the lesson", **{k: _joined(v) for k, v in top.items()}, stops=tuple(stops))


def write_lesson(lesson: Lesson) -> str:
    """The lesson as a file that `read_lesson` reads back."""
    lines = [f"title = {_text(lesson.title)}"]
    if lesson.about:
        lines.append(f"about = {_text(lesson.about)}")
    if lesson.minutes:
        lines.append(f"minutes = {lesson.minutes}")
    for stop in lesson.stops:
        lines += ["", "[[stop]]", *(f"{name} = {_text(str(getattr(stop, name)))}" for name in _WRITTEN)]
        lines.append(f"check = {_inline(task_checks.NAMES[type(stop.check)], stop.check)}")
        if stop.question is not None:
            lines += _question_lines(stop.question)
    return "\n".join(lines) + "\n"


_WRITTEN = ("title", "link", "words", "task")


def _question_lines(question: Question) -> list[str]:
    name, given = measures.NAMES[type(question.measure)], _given(question.measure)
    lines = ["[stop.question]", f"prompt = {_text(question.prompt)}", f"measure = {_text(name)}"]
    if given:
        lines.append(f"with = {{ {', '.join(given)} }}")
    if question.proof:
        lines.append(f"proof = {_text(str(Link('proof', question.proof)).partition('?')[2])}")
    return lines


def _inline(name: str, value: object) -> str:
    return f"{{ {', '.join([f'name = {_text(name)}', *_given(value)])} }}"


def _given(value: object) -> list[str]:
    """'key = value' of every field that is not as it is by default."""
    pairs = ((f, getattr(value, f.name)) for f in fields(value))  # type: ignore[arg-type]
    return [f"{f.name} = {_scalar(now)}" for f, now in pairs if now is not None and now != f.default]


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    """A basic string of TOML; JSON's escapes are TOML's too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parsed(data: bytes) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise LessonError(f"the file: expected at most {MOST_BYTES // 1024} KB, received {len(data):,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LessonError(f"the file: expected text in UTF-8, byte {error.start:,} is none") from error
    _check_shape(text.replace("\r\n", "\n"))
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:  # ValueError: a date that is none
        raise LessonError(f"the file is no TOML: {cut(str(error), 120)}") from error


def _check_shape(text: str) -> None:
    """Refuse what would make tomllib slow. A line ends where one of TOML does: at a line feed alone."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise LessonError(
                f"line {number}: expected at most {LONGEST_LINE} characters, received {len(line):,}"
            )
    number, dots, depth, dots_of_file = 1, 0, 0, 0
    for found in _TOML.finditer(text):
        token = found[0]
        if lines := token.count("\n"):
            number, dots = number + lines, 0
        elif token == ".":
            dots, dots_of_file = dots + 1, dots_of_file + 1
        elif token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth = max(0, depth - 1)
        if dots > MOST_DOTS or dots_of_file > MOST_DOTS_OF_FILE or depth > MOST_DEPTH:
            raise LessonError(f"line {number}: nested deeper than a lesson")


def _stop(given: object, slugs: Collection[str], place: str) -> Stop:
    table = _table(given, _STOP, place)
    link = _link(table["link"], f"{place}, link")
    if link.slug not in slugs:
        raise LessonError(f"{place}, link: {cut(link.slug, 40)!r} is no page of this app")
    question = table.get("question")
    return _made(
        Stop,
        place,
        title=_joined(table["title"]),
        link=link,
        words=_joined(table["words"]),
        task=_joined(table["task"]),
        check=task_checks.read_check(table["check"], f"{place}, check"),
        question=None if question is None else _question(question, f"{place}, question"),
    )


def _question(given: object, place: str) -> Question:
    table = _table(given, _QUESTION, place)
    measure = measures.read_measure(table["measure"], table.get("with", {}), place)
    proof = _link(f"proof?{table['proof']}", f"{place}, proof").query if table.get("proof") else ()
    return _made(Question, place, prompt=_joined(table["prompt"]), measure=measure, proof=proof)


def _link(text: str, place: str) -> Link:
    try:
        return Link.parse(text)
    except ValueError as error:
        raise LessonError(f"{place}: {cut(str(error), 160)}") from error


def _made(cls: type[T], place: str, **values: Any) -> T:
    try:
        return cls(**values)
    except ValueError as error:
        raise LessonError(f"{place}: {error}") from error


def _joined(value: Any) -> Any:
    """Text in one line: a file may break it where it likes."""
    return " ".join(value.split()) if isinstance(value, str) else value


def _table(given: object, kinds: Mapping[str, type], place: str) -> dict[str, Any]:
    """A table of a file whose names and types are those that may stand there."""
    if not isinstance(given, dict):
        raise LessonError(f"{place}: expected a table, received {type(given).__name__}")
    for name, value in given.items():
        if name not in kinds:
            raise LessonError(f"{place}: {cut(name, 40)!r} is no name here, expected one of {listed(kinds)}")
        if type(value) is not kinds[name]:
            raise LessonError(
                f"{place}, {name}: expected {kinds[name].__name__}, received {type(value).__name__}"
            )
    for name in kinds:
        if name not in given and name not in _MAY_LACK:
            raise LessonError(f"{place}: {name!r} is missing")
    return dict(given)
