"""Lessons by name: those that are shipped, those of the operator's folder, and a visit's own."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pages.stores.session import Visit
from vitviz.lessons.lesson import Lesson
from vitviz.lessons.lesson_file import MOST_BYTES, read_lesson
from vitviz.lessons.typed_tables import LessonError

SHIPPED = Path(__file__).parents[2] / "lessons"
ORDER = (
    "fifteen",
    "lecture",
    "positions",
    "swin",
    "explanation",
)  # of the shipped ones; others follow by name
OPENED, MINE = "opened", "mine"  # names of a visit's own
CLASS = "class."  # before the name of a file in the operator's folder
_NOTE, _ASKED = "lessons", "asked"  # of a visit's notes: its Shelf, and its answers to pages' own questions
_MOST = 60  # files of a folder
_STEM = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Answer:
    """What a visitor predicted, and what was measured then; all of it in words."""

    guess: float
    prompt: str
    guessed: str
    measured: str
    words: str  # the sentences that stand beside the question
    where: str  # model, step and picture that were at hand


@dataclass
class Progress:
    """How far a visit has come in one lesson: the stop that it is at, from 1, what is done, and its answers by stop."""

    stop: int = 1
    done: set[int] = field(default_factory=set)
    answers: dict[int, Answer] = field(default_factory=dict)


@dataclass
class Shelf:
    """A visit's own lessons by name, and its progress in every lesson by name."""

    own: dict[str, Lesson] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    last: str = ""  # the lesson that was open last


def shelf(visit: Visit) -> Shelf:
    """The visit's; it survives a reload of the page."""
    found = visit.notes.setdefault(_NOTE, Shelf())
    assert isinstance(found, Shelf)
    return found


def asked(visit: Visit) -> dict[str, Answer]:
    """The visit's answers to pages' own questions, by key ('block.asks.0'); those in lessons are in its progress."""
    found = visit.notes.setdefault(_ASKED, {})
    assert isinstance(found, dict)
    return found


def progress(visit: Visit, name: str) -> Progress:
    """The visit's progress in a lesson."""
    return shelf(visit).progress.setdefault(name, Progress())


def next_stop(visit: Visit, slugs: Collection[str]) -> tuple[str, Lesson, int] | None:
    """The way through for a visit: the lesson that was open last, else the first shipped one not walked to its end.

    Returns:
        name, lesson and the stop to go on at, from 1; None where all are walked, or their files have gone.
    """
    for name in dict.fromkeys((shelf(visit).last, *ORDER)):
        found = find(visit, name, slugs)
        if found is None:
            continue
        walked = shelf(visit).progress.get(name, Progress())
        if len(found.stops) not in walked.done:
            return name, found, min(walked.stop, len(found.stops))
    return None


def find(visit: Visit, name: str, slugs: Collection[str]) -> Lesson | None:
    """The lesson of a name that a link may hold; None where there is none here."""
    if name in (OPENED, MINE):
        return shelf(visit).own.get(name)
    kind = CLASS if name.startswith(CLASS) else ""
    stem = name.removeprefix(CLASS)
    if not _STEM.fullmatch(stem):
        return None
    folder = class_folder() if kind else SHIPPED
    found = None if folder is None else _read(folder / f"{stem}.toml", frozenset(slugs))
    return found if isinstance(found, Lesson) else None


def is_shipped(name: str) -> bool:
    """Whether a lesson's words are the project's own."""
    return name not in (OPENED, MINE) and not name.startswith(CLASS)


def shipped(slugs: Collection[str]) -> dict[str, Lesson]:
    """The project's own, in the order in which they are offered."""
    found = {name: lesson for name, lesson in _folder(SHIPPED, slugs) if isinstance(lesson, Lesson)}
    return dict(sorted(found.items(), key=lambda item: (item[0] not in ORDER, _place(item[0]), item[0])))


def of_the_class(slugs: Collection[str]) -> dict[str, Lesson | str]:
    """The lessons of the operator's folder, by name; a sentence where a file is none."""
    folder = class_folder()
    return {} if folder is None else {f"{CLASS}{name}": found for name, found in _folder(folder, slugs)}


def class_folder() -> Path | None:
    """$VITVIZ_LESSONS: a folder of lessons that this server's operator offers to everybody."""
    chosen = os.environ.get("VITVIZ_LESSONS", "").strip()
    return Path(chosen).expanduser() if chosen else None


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _folder(folder: Path, slugs: Collection[str]) -> list[tuple[str, Lesson | str]]:
    files = [file for file in sorted(folder.glob("*.toml")) if _STEM.fullmatch(file.stem)][:_MOST]
    return [(file.stem, found) for file in files if (found := _read(file, frozenset(slugs))) is not None]


def _read(file: Path, slugs: frozenset[str]) -> Lesson | str | None:
    try:
        return _parsed(file, file.stat().st_mtime_ns, slugs)
    except OSError:
        return None


@lru_cache(maxsize=128)
def _parsed(file: Path, modified_ns: int, slugs: frozenset[str]) -> Lesson | str:
    """The lesson, or the sentence that says why it is none; `modified_ns` keys the cache."""
    with file.open("rb") as source:
        data = source.read(MOST_BYTES + 1)
    try:
        return read_lesson(data, slugs)
    except LessonError as error:
        return str(error)
