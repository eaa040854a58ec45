"""What a teacher shows: a page, what it shows, and the lesson's stop; never what is the teacher's alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from vitviz.data.own_datasets import is_own
from vitviz.lessons.lesson import Link

CLASS, LESSON, STOP = "class", "lesson", "stop"  # keys of a link that are no control's
_PRIVATE = re.compile(r"(upload|weights):")
_LESSON = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_MOST_STOP = 999
_LONGEST_WORDS = 1000  # of any text of a stop; a lesson's own bounds are narrower


@dataclass(frozen=True)
class Words:
    """A stop of a lesson that only the teacher has, in words: what a class reads where it cannot open the lesson.

    Raises:
        ValueError: if its place or its texts are no stop's.
    """

    lesson: str  # its title
    stop: int
    stops: int
    title: str  # of the stop
    words: str
    task: str

    def __post_init__(self) -> None:
        if (
            type(self.stop) is not int
            or type(self.stops) is not int
            or not 1 <= self.stop <= self.stops <= _MOST_STOP
        ):
            raise ValueError(f"a stop is one of 1..{_MOST_STOP}, received {self.stop!r} of {self.stops!r}")
        for text in (self.lesson, self.title, self.words, self.task):
            if not isinstance(text, str) or len(text) > _LONGEST_WORDS:
                raise ValueError(
                    f"a stop's text has at most {_LONGEST_WORDS} characters, received {text!r:.40}"
                )


@dataclass(frozen=True)
class Shown:
    """A page with what it shows, and the lesson that is open beside it: by name, or as words where it is the teacher's.

    Raises:
        ValueError: if the lesson or its stop cannot be one.
    """

    link: Link
    lesson: str = ""  # '': none is open
    stop: int = 1
    words: Words | None = None

    def __post_init__(self) -> None:
        if self.lesson and not _LESSON.fullmatch(self.lesson):
            raise ValueError(f"no lesson is called {self.lesson[:40]!r}")
        if not 1 <= self.stop <= _MOST_STOP:
            raise ValueError(f"a stop lies in 1..{_MOST_STOP}, received {self.stop}")

    @property
    def slug(self) -> str:
        """The page's."""
        return self.link.slug

    @property
    def query(self) -> dict[str, str]:
        """What an address says of it."""
        beside = {LESSON: self.lesson, STOP: str(self.stop)} if self.lesson else {}
        return {**self.link.values, **beside}

    def __str__(self) -> str:
        """As `read` reads it."""
        words = [] if self.words is None else [astuple(self.words)]
        return json.dumps([str(self.link), self.lesson, self.stop, *words])

    @classmethod
    def read(cls, text: str) -> Shown | None:
        """What the file holds; None where it holds nothing that can be shown."""
        try:
            link, lesson, stop, *words = json.loads(text)
            return cls(Link.parse(str(link)), str(lesson), int(stop), *(Words(*one) for one in words))
        except (ValueError, TypeError, RecursionError):
            return None


def is_private(value: str) -> bool:
    """Whether a value of a link names what only its maker has: an uploaded picture, weights, a set of pictures."""
    return _PRIVATE.search(value) is not None or any(is_own(part) for part in value.split(","))


def shown(
    slug: str,
    written: Mapping[str, str],
    pictures: Mapping[str, str],
    own_lessons: frozenset[str],
    words: Words | None = None,
) -> Shown:
    """What the class sees of a page whose link this is; the longest values give way where a link has no room.

    Args:
        slug: the page's.
        written: what its link says.
        pictures: the class's own picture by the teacher's, of those that are shown to the class.
        own_lessons: names of lessons that only this visit has.
        words: of the stop of such a lesson, where the teacher shows it.
    """
    said = {key: pictures.get(value, value) for key, value in written.items()}
    public = {
        key: value
        for key, value in said.items()
        if key not in (CLASS, LESSON, STOP) and (not is_private(value) or value in pictures.values())
    }
    lesson = said.get(LESSON, "")
    stop = said.get(STOP, "1")
    known = bool(lesson) and lesson not in own_lessons and stop.isdecimal()
    return Shown(_fitting(slug, public), lesson if known else "", int(stop) if known else 1, words)


def _fitting(slug: str, public: Mapping[str, str]) -> Link:
    usable = {key: value for key, value in public.items() if _fits((key, value))}
    by_length = sorted(usable, key=lambda key: len(usable[key]))
    for count in range(len(by_length), 0, -1):
        kept = tuple((key, value) for key, value in usable.items() if key in by_length[:count])
        if _fits(*kept):
            return Link(slug, kept)
    return Link(slug)


def _fits(*pairs: tuple[str, str]) -> bool:
    try:
        Link("home", pairs)
    except ValueError:
        return False
    return True
