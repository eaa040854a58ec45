"""Read lessons from untrusted TOML files, and write them."""

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from vitviz.lessons import measures, task_checks
from vitviz.lessons.lesson import Lesson, Link, Question, Stop
from vitviz.lessons.question_kinds import Measure
from vitviz.lessons.typed_tables import LessonError, list_names
from vitviz.text import cut
from vitviz.upload_limits import LESSON_BYTES

T = TypeVar("T")
MAX_LINE_LENGTH = 1600  # characters; links are the longest lines
MAX_DOTS = 8  # per line, outside strings: tomllib's time and memory grow with the square of a key's parts
MAX_DOTS_OF_FILE = 2000  # a dotted key on every line costs tomllib half a second
MAX_DEPTH = 16  # open brackets: tomllib recurses for each
_TOML = (
    re.compile(  # a string or comment is one match, even if it does not end; outside of them, single tokens
        r'"""(?:\\.|[^\\])*?(?:"{3,5}|\Z)'
        r"|'''.*?(?:'{3,5}|\Z)"
        r'|"(?:\\.|[^"\\\n])*"?'
        r"|'[^'\n]*'?"
        r"|\#[^\n]*"
        r"|[.\[\]{}\n]",
        re.DOTALL,
    )
)
_LESSON_KEYS = {"title": str, "about": str, "minutes": int, "stop": list}
_STOP_KEYS = {
    **{"title": str, "link": str, "words": str, "task": str, "check": dict},
    **{"shows": str, "evidence": dict, "question": dict, "picture": str},
}
_EVIDENCE_KEYS = {"measure": str, "with": dict}
_QUESTION_KEYS = {"prompt": str, "measure": str, "with": dict, "proof": str}
_OPTIONAL_KEYS = ("about", "minutes", "shows", "evidence", "question", "with", "proof", "picture")


def read_lesson(toml_bytes: bytes, slugs: Collection[str]) -> Lesson:
    """Return the lesson of a file.

    Args:
        toml_bytes: the file's bytes.
        slugs: of the pages that a stop may link to.

    Raises:
        LessonError: if the file is too large, is not TOML, or is not a lesson; the message names the place.
    """
    top = _check_table(_parse_toml(toml_bytes), _LESSON_KEYS, "the lesson")
    stops = tuple(
        _read_stop(table, slugs, f"stop {number}") for number, table in enumerate(top.pop("stop"), start=1)
    )
    return _construct(Lesson, "the lesson", **{k: _join_lines(v) for k, v in top.items()}, stops=stops)


def write_lesson(lesson: Lesson) -> str:
    """Return the lesson as a TOML file that `read_lesson` reads back."""
    lines = [f"title = {_format_string(lesson.title)}"]
    if lesson.about:
        lines.append(f"about = {_format_string(lesson.about)}")
    if lesson.minutes:
        lines.append(f"minutes = {lesson.minutes}")
    for stop in lesson.stops:
        lines += [
            "",
            "[[stop]]",
            *(f"{name} = {_format_string(str(getattr(stop, name)))}" for name in _STOP_TEXTS),
        ]
        name = f"name = {_format_string(task_checks.CHECK_NAMES[type(stop.check)])}"
        lines.append(f"check = {{ {', '.join([name, *_format_fields(stop.check)])} }}")
        if stop.picture:
            lines.append(f"picture = {_format_string(stop.picture)}")
        if stop.shows:
            lines.append(f"shows = {_format_string(stop.shows)}")
        if stop.evidence is not None:
            lines.append(f"evidence = {{ {', '.join(_format_measure(stop.evidence))} }}")
        if stop.question is not None:
            lines += _format_question(stop.question)
    return "\n".join(lines) + "\n"


_STOP_TEXTS = ("title", "link", "words", "task")


def _format_question(question: Question) -> list[str]:
    prompt = f"prompt = {_format_string(question.prompt)}"
    lines = ["[stop.question]", prompt, *_format_measure(question.measure)]
    if question.proof:
        lines.append(f"proof = {_format_string(str(Link('proof', question.proof)).partition('?')[2])}")
    return lines


def _format_measure(measure: Measure) -> list[str]:
    parameters = _format_fields(measure)
    name = f"measure = {_format_string(measures.MEASURE_NAMES[type(measure)])}"
    return [name, f"with = {{ {', '.join(parameters)} }}"] if parameters else [name]


def _format_fields(instance: object) -> list[str]:
    """Return 'key = value' for every field of a dataclass that differs from its default."""
    pairs = ((f, getattr(instance, f.name)) for f in fields(instance))  # type: ignore[arg-type]
    return [f"{f.name} = {_format_scalar(v)}" for f, v in pairs if v is not None and v != f.default]


def _format_scalar(scalar: object) -> str:
    if isinstance(scalar, bool):
        return str(scalar).lower()
    if isinstance(scalar, tuple):
        return f"[{', '.join(map(_format_scalar, scalar))}]"
    return _format_string(scalar) if isinstance(scalar, str) else repr(scalar)


def _format_string(text: str) -> str:
    """Return a basic TOML string; JSON's escapes are valid in TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parse_toml(toml_bytes: bytes) -> dict[str, Any]:
    if (size := len(toml_bytes)) > LESSON_BYTES:
        raise LessonError(f"the file: expected at most {LESSON_BYTES // 1024} KB, received {size:,} bytes")
    try:
        text = toml_bytes.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LessonError(f"the file: expected UTF-8 text, byte {error.start:,} is invalid") from error
    _check_shape(text.replace("\r\n", "\n"))
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:  # ValueError: an invalid date
        raise LessonError(f"the file is not TOML: {cut(str(error), 120)}") from error


def _check_shape(text: str) -> None:
    """Raise LessonError for text that would make tomllib slow; as in TOML, only a line feed ends a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE_LENGTH:
            raise LessonError(
                f"line {number}: expected at most {MAX_LINE_LENGTH} characters, received {len(line):,}"
            )
    number, dots, depth, dots_of_file = 1, 0, 0, 0
    for match in _TOML.finditer(text):
        token = match[0]
        if lines := token.count("\n"):
            number, dots = number + lines, 0
        elif token == ".":
            dots, dots_of_file = dots + 1, dots_of_file + 1
        elif token in ("[", "{"):
            depth += 1
        elif token in ("]", "}"):
            depth = max(0, depth - 1)
        if dots > MAX_DOTS or dots_of_file > MAX_DOTS_OF_FILE or depth > MAX_DEPTH:
            raise LessonError(f"line {number}: expected less nesting")


def _read_stop(given: object, slugs: Collection[str], place: str) -> Stop:
    table = _check_table(given, _STOP_KEYS, place)
    link = _read_link(table["link"], f"{place}, link")
    if link.slug not in slugs:
        raise LessonError(f"{place}, link: expected a page of this app, received {cut(link.slug, 40)!r}")
    question, evidence = table.get("question"), table.get("evidence")
    return _construct(
        Stop,
        place,
        title=_join_lines(table["title"]),
        link=link,
        words=_join_lines(table["words"]),
        task=_join_lines(table["task"]),
        check=task_checks.read_check(table["check"], f"{place}, check"),
        question=None if question is None else _read_question(question, f"{place}, question"),
        shows=_join_lines(table.get("shows", "")),
        evidence=None if evidence is None else _read_evidence(evidence, f"{place}, evidence"),
        picture=table.get("picture", ""),
    )


def _read_question(given: object, place: str) -> Question:
    table = _check_table(given, _QUESTION_KEYS, place)
    measure = measures.read_measure(table["measure"], table.get("with", {}), place)
    proof = _read_link(f"proof?{table['proof']}", f"{place}, proof").query if table.get("proof") else ()
    return _construct(Question, place, prompt=_join_lines(table["prompt"]), measure=measure, proof=proof)


def _read_evidence(given: object, place: str) -> Measure:
    table = _check_table(given, _EVIDENCE_KEYS, place)
    return measures.read_measure(table["measure"], table.get("with", {}), place)


def _read_link(text: str, place: str) -> Link:
    try:
        return Link.parse(text)
    except ValueError as error:
        raise LessonError(f"{place}: {cut(str(error), 160)}") from error


def _construct(cls: type[T], place: str, **values: Any) -> T:
    try:
        return cls(**values)
    except ValueError as error:
        raise LessonError(f"{place}: {error}") from error


def _join_lines(entry: Any) -> Any:
    """Return a text in one line; a file may break it anywhere."""
    return " ".join(entry.split()) if isinstance(entry, str) else entry


def _check_table(given: object, kinds: Mapping[str, type], place: str) -> dict[str, Any]:
    """Return the table, or raise LessonError if a key is unknown or missing or a value has the wrong type."""
    if not isinstance(given, dict):
        raise LessonError(f"{place}: expected a table, received {type(given).__name__}")
    for name, entry in given.items():
        if name not in kinds:
            raise LessonError(f"{place}: expected a key of {list_names(kinds)}, received {cut(name, 40)!r}")
        if type(entry) is not kinds[name]:
            raise LessonError(
                f"{place}, {name}: expected {kinds[name].__name__}, received {type(entry).__name__}"
            )
    for name in kinds:
        if name not in given and name not in _OPTIONAL_KEYS:
            raise LessonError(f"{place}: {name!r} is missing")
    return dict(given)
