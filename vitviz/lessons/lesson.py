"""A lesson: stops, each a page's link, a few words, one thing to do, and perhaps a question that is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from vitviz.lessons.question_kinds import Measure
from vitviz.lessons.task_checks import Check, GuessMade

LONGEST_TITLE = 80
LONGEST_ABOUT = 200
LONGEST_TASK = 160
LONGEST_PROMPT = 200
LONGEST_WORDS = 480  # characters
MOST_WORDS = 60
MOST_STOPS = 60
MOST_MINUTES = 600
MOST_KEYS = 48  # of a link
LONGEST_VALUE = 256  # of a link
LONGEST_LINK = 1200
_SLUG = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}(\.[a-z_][a-z0-9_]{0,39})?")
_OURS = ("lesson", "stop")  # written by the lesson itself


@dataclass(frozen=True)
class Link:
    """A page of this app and what it shows: its slug, and a query of nouns and controls.

    Raises:
        ValueError: if the slug or a key cannot be one of this app's, or a value is too long.
    """

    slug: str
    query: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not _SLUG.fullmatch(self.slug):
            raise ValueError(f"a link begins with a page's own name, received {self.slug[:40]!r}")
        if len(self.query) > MOST_KEYS:
            raise ValueError(f"a link has at most {MOST_KEYS} keys, received {len(self.query)}")
        for key, value in self.query:
            if not _KEY.fullmatch(key) or key in _OURS:
                raise ValueError(f"{key[:40]!r} is no key of a page's link")
            if len(value) > LONGEST_VALUE or not value.isprintable():
                raise ValueError(f"{key} has at most {LONGEST_VALUE} characters in one line")
        if (length := len(str(self))) > LONGEST_LINK:
            raise ValueError(f"a link has at most {LONGEST_LINK} characters, received {length:,}")

    @classmethod
    def parse(cls, text: str) -> Link:
        """'slug?key=value&…' as an address bar shows it behind the server's name; of equal keys the last counts.

        Raises:
            ValueError: if it is longer than a link of ours, or leads anywhere else.
        """
        if len(text) > LONGEST_LINK:
            raise ValueError(f"a link has at most {LONGEST_LINK} characters, received {len(text)}")
        slug, _, query = text.strip().partition("?")
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=2 * MOST_KEYS
        )
        return cls(slug.removeprefix("/"), tuple(dict(pairs).items()))

    @property
    def values(self) -> Mapping[str, str]:
        """The query by key."""
        return dict(self.query)

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.slug}?{urlencode(self.query, safe=':,')}" if self.query else self.slug


@dataclass(frozen=True)
class Question:
    """What a visitor predicts before the app measures it.

    proof: what the page then shows: controls and nouns of the same page's link.

    Raises:
        ValueError: if the prompt is empty or too long.
    """

    prompt: str
    measure: Measure
    proof: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _line("prompt", self.prompt, LONGEST_PROMPT)
        Link("home", self.proof)


@dataclass(frozen=True)
class Stop:
    """One stop of a lesson.

    words: at most `MOST_WORDS`. task: the one thing to do; check: how the app sees that it was done.

    Raises:
        ValueError: if a text is empty or too long, or its check waits for a question that it does not ask.
    """

    title: str
    link: Link
    words: str
    task: str
    check: Check
    question: Question | None = None

    def __post_init__(self) -> None:
        _line("title", self.title, LONGEST_TITLE)
        _line("words", self.words, LONGEST_WORDS)
        _line("task", self.task, LONGEST_TASK)
        if (count := len(self.words.split())) > MOST_WORDS:
            raise ValueError(f"words are at most {MOST_WORDS}, received {count}")
        if isinstance(self.check, GuessMade) and self.question is None:
            raise ValueError("the check guess_made needs a question")


@dataclass(frozen=True)
class Lesson:
    """A title, what it is about in a sentence, how many minutes it takes, and its stops in order.

    Raises:
        ValueError: if there is no stop, there are too many, or a text is too long.
    """

    title: str
    stops: tuple[Stop, ...]
    about: str = ""
    minutes: int = 0  # 0: not said

    def __post_init__(self) -> None:
        _line("title", self.title, LONGEST_TITLE)
        if self.about:
            _line("about", self.about, LONGEST_ABOUT)
        if not 0 <= self.minutes <= MOST_MINUTES:
            raise ValueError(f"minutes lie in 0..{MOST_MINUTES}, received {self.minutes}")
        if not 1 <= len(self.stops) <= MOST_STOPS:
            raise ValueError(f"a lesson has 1 to {MOST_STOPS} stops, received {len(self.stops)}")


def _line(name: str, text: str, longest: int) -> None:
    if not text.strip():
        raise ValueError(f"{name} is empty")
    if len(text) > longest:
        raise ValueError(f"{name} has at most {longest} characters, received {len(text)}")
    if not text.isprintable():
        raise ValueError(f"{name} holds a character that cannot be printed")
