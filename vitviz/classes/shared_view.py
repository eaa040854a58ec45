"""Build the view that a teacher shares with a class: a page's public link and the stop of an open lesson."""

import json
import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from vitviz.data.uploaded_datasets import is_uploaded
from vitviz.lessons.lesson import Link

CLASS, LESSON, STOP = "class", "lesson", "stop"  # query parameters that belong to no page
_PRIVATE = re.compile(r"(upload|weights):")
_LESSON = re.compile(r"[A-Za-z0-9_.-]{1,80}")
_AWAY = "away"
_MAX_STOP = 999
_MAX_TEXT_LENGTH = 1000  # of any text of a stop; the limits of a lesson are narrower


@dataclass(frozen=True)
class LessonText:
    """The text of a stop of the teacher's own lesson, for learners who cannot open the lesson.

    Raises:
        ValueError: if a number is out of range or a text is too long.
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
            or not 1 <= self.stop <= self.stops <= _MAX_STOP
        ):
            raise ValueError(f"expected a stop in 1..{_MAX_STOP}, received {self.stop!r} of {self.stops!r}")
        for text in (self.lesson, self.title, self.words, self.task):
            if not isinstance(text, str) or len(text) > _MAX_TEXT_LENGTH:
                raise ValueError(
                    f"expected a text of at most {_MAX_TEXT_LENGTH} characters, received {text!r:.40}"
                )


@dataclass(frozen=True)
class SharedView:
    """A page's link and the lesson open beside it, by name or, for the teacher's own lesson, as text.

    away: the teacher has left the page for the class's own, which is not shared.

    Raises:
        ValueError: if the lesson's name or stop is invalid.
    """

    link: Link
    lesson: str = ""  # '': no lesson
    stop: int = 1
    words: LessonText | None = None
    away: bool = False

    def __post_init__(self) -> None:
        if self.lesson and not _LESSON.fullmatch(self.lesson):
            raise ValueError(f"expected the name of a lesson, received {self.lesson[:40]!r}")
        if not 1 <= self.stop <= _MAX_STOP:
            raise ValueError(f"expected a stop in 1..{_MAX_STOP}, received {self.stop}")

    @property
    def slug(self) -> str:
        return self.link.slug

    @property
    def query(self) -> dict[str, str]:
        """The query parameters of its address."""
        lesson = {LESSON: self.lesson, STOP: str(self.stop)} if self.lesson else {}
        return {**self.link.values, **lesson}

    def __str__(self) -> str:
        words = [] if self.words is None else [astuple(self.words)]
        return json.dumps([str(self.link), self.lesson, self.stop, *words, *[_AWAY] * self.away])

    @classmethod
    def parse(cls, text: str) -> "SharedView | None":
        """Return the view in a stored text; None if it is invalid."""
        try:
            link, lesson, stop, *more = json.loads(text)
            words = next((LessonText(*fields) for fields in more if fields != _AWAY), None)
            return cls(Link.parse(str(link)), str(lesson), int(stop), words, _AWAY in more)
        except (ValueError, TypeError, RecursionError):
            return None


def is_private(text: str) -> bool:
    """Return True if a value of a link names an upload of one session: an image, weights or a dataset."""
    return _PRIVATE.search(text) is not None or any(is_uploaded(part) for part in text.split(","))


def build_shared_view(
    slug: str,
    query: Mapping[str, str],
    images: Mapping[str, str],
    own_lessons: frozenset[str],
    words: LessonText | None = None,
) -> SharedView:
    """Return the public part of a page's link, without the longest values if it is too long.

    Args:
        query: of the page's link.
        images: the class's copy by the teacher's upload, of images that are shared with the class.
        own_lessons: names of lessons that only this session has.
        words: the text of the stop of such a lesson, if the teacher shares it.
    """
    shared = {key: images.get(text, text) for key, text in query.items()}
    public = {
        key: text
        for key, text in shared.items()
        if key not in (CLASS, LESSON, STOP) and (not is_private(text) or text in images.values())
    }
    lesson = shared.get(LESSON, "")
    stop = shared.get(STOP, "1")
    is_public = bool(lesson) and lesson not in own_lessons and stop.isdecimal()
    link = _shorten_link(slug, public)
    return SharedView(link, lesson if is_public else "", int(stop) if is_public else 1, words)


def _shorten_link(slug: str, public: Mapping[str, str]) -> Link:
    usable = {key: text for key, text in public.items() if _fits((key, text))}
    by_length = sorted(usable, key=lambda key: len(usable[key]))
    for count in range(len(by_length), 0, -1):
        pairs = tuple((key, text) for key, text in usable.items() if key in by_length[:count])
        if _fits(*pairs):
            return Link(slug, pairs)
    return Link(slug)


def _fits(*pairs: tuple[str, str]) -> bool:
    try:
        Link("home", pairs)
    except ValueError:
        return False
    return True
