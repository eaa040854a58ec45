"""Find lessons (shipped, of the operator's folder, of the user) and store progress and answers."""

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pages.stores.session import UserSession
from vitviz.lessons.lesson import Lesson
from vitviz.lessons.lesson_file import read_lesson
from vitviz.lessons.question_kinds import Answer, AnswerKind
from vitviz.lessons.typed_tables import LessonError
from vitviz.upload_limits import LESSON_BYTES

SHIPPED = Path(__file__).parents[2] / "lessons"
ORDER = (
    "fifteen",
    "lecture",
    "positions",
    "swin",
    "explanation",
)  # of the shipped lessons; others follow by name
OPENED, MINE = "opened", "mine"  # names of a user's own lessons
CLASS = "class."  # prefix of names in the operator's folder
_NOTE, _ANSWERS = "lessons", "asked"  # keys of the user's notes: Shelf, and answers to pages' questions
_MOST = 60  # files per folder
_STEM = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class StoredAnswer:
    """A prediction and the measured answer, as text."""

    guess: Answer
    prompt: str
    guessed: str
    measured: str
    words: str  # the verdict shown beside the question
    where: str  # model, step and image
    label: str = "Measured"  # of the measured answer
    right: tuple[Answer, ...] = ()
    kind: AnswerKind | None = None


@dataclass
class Progress:
    """A user's progress in one lesson: the current stop (from 1), completed stops and answers by stop."""

    stop: int = 1
    done: set[int] = field(default_factory=set)
    answers: dict[int, StoredAnswer] = field(default_factory=dict)

    def find_next(self, count: int) -> int:
        """Return the first of `count` stops that is not done; the last one if all are."""
        return next((stop for stop in range(1, count + 1) if stop not in self.done), count)


@dataclass
class Shelf:
    """A user's own lessons and the progress in every lesson, by name."""

    own: dict[str, Lesson] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    last: str = ""  # the lesson that was open last


def get_shelf(user: UserSession) -> Shelf:
    """Return the user's shelf, which survives a reload."""
    shelf = user.notes.setdefault(_NOTE, Shelf())
    assert isinstance(shelf, Shelf)
    return shelf


def get_answers(user: UserSession) -> dict[str, StoredAnswer]:
    """Return the user's answers to pages' own questions, by key such as 'block.asks.0'."""
    answers = user.notes.setdefault(_ANSWERS, {})
    assert isinstance(answers, dict)
    return answers


def get_progress(user: UserSession, name: str) -> Progress:
    return get_shelf(user).progress.setdefault(name, Progress())


def find_next_stop(user: UserSession, slugs: Collection[str]) -> tuple[str, Lesson, int] | None:
    """Return where to continue: the lesson that was open last, else the first unfinished shipped one.

    Returns:
        name, lesson and the stop to continue at, from 1; None if all are finished or missing.
    """
    for name in dict.fromkeys((get_shelf(user).last, *ORDER)):
        lesson = find_lesson(user, name, slugs)
        if lesson is None:
            continue
        progress = get_shelf(user).progress.get(name, Progress())
        if len(lesson.stops) not in progress.done:
            return name, lesson, progress.find_next(len(lesson.stops))
    return None


def find_lesson(user: UserSession, name: str, slugs: Collection[str]) -> Lesson | None:
    if name in (OPENED, MINE):
        return get_shelf(user).own.get(name)
    kind = CLASS if name.startswith(CLASS) else ""
    stem = name.removeprefix(CLASS)
    if not _STEM.fullmatch(stem):
        return None
    folder = get_class_folder() if kind else SHIPPED
    lesson = None if folder is None else _read_file(folder / f"{stem}.toml", frozenset(slugs))
    return lesson if isinstance(lesson, Lesson) else None


def is_shipped(name: str) -> bool:
    return name not in (OPENED, MINE) and not name.startswith(CLASS)


def list_shipped(slugs: Collection[str]) -> dict[str, Lesson]:
    lessons = {name: lesson for name, lesson in _read_folder(SHIPPED, slugs) if isinstance(lesson, Lesson)}
    order = [*(name for name in ORDER if name in lessons), *sorted({*lessons} - {*ORDER})]
    return {name: lessons[name] for name in order}


def list_class_lessons(slugs: Collection[str]) -> dict[str, Lesson | str]:
    """Return the lessons of the operator's folder by name, or an error message for an invalid file."""
    folder = get_class_folder()
    return (
        {} if folder is None else {f"{CLASS}{name}": lesson for name, lesson in _read_folder(folder, slugs)}
    )


def get_class_folder() -> Path | None:
    """Return the folder $VITVIZ_LESSONS, whose lessons are offered to all users."""
    folder = os.environ.get("VITVIZ_LESSONS", "").strip()
    return Path(folder).expanduser() if folder else None


def _read_folder(folder: Path, slugs: Collection[str]) -> list[tuple[str, Lesson | str]]:
    files = [file for file in sorted(folder.glob("*.toml")) if _STEM.fullmatch(file.stem)][:_MOST]
    return [
        (file.stem, lesson) for file in files if (lesson := _read_file(file, frozenset(slugs))) is not None
    ]


def _read_file(file: Path, slugs: frozenset[str]) -> Lesson | str | None:
    try:
        return _parse_file(file, file.stat().st_mtime_ns, slugs)
    except OSError:
        return None


@lru_cache(maxsize=128)
def _parse_file(file: Path, modified_ns: int, slugs: frozenset[str]) -> Lesson | str:
    """Return the lesson or an error message; `modified_ns` keys the cache."""
    with file.open("rb") as source:
        toml_bytes = source.read(LESSON_BYTES + 1)
    try:
        return read_lesson(toml_bytes, slugs)
    except LessonError as error:
        return str(error)
