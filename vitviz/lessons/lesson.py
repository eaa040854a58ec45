"""Define a lesson: its stops, each with a page's link, a text, a task, its check and an optional question."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from vitviz.lessons.question_kinds import Measure
from vitviz.lessons.task_checks import Check, PredictionMade

MAX_TITLE_LENGTH = 80
MAX_ABOUT_LENGTH = 200
MAX_TASK_LENGTH = 160
MAX_PROMPT_LENGTH = 200
MAX_SHOWS_LENGTH = 240
MAX_WORDS_LENGTH = 480  # characters
MAX_WORDS = 60
MAX_STOPS = 60
MAX_MINUTES = 600
MAX_LINK_KEYS = 48
MAX_LINK_VALUE_LENGTH = 1000  # a drawing has up to 968
MAX_LINK_LENGTH = 1200
PICTURES = ("history", "uses", "pretraining", "recipe")  # of `vitviz.plots.lesson_pictures`
_SLUG = re.compile(r"[a-z][a-z0-9_]{0,39}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}(\.[a-z_][a-z0-9_]{0,39})?")
PLACEHOLDER = re.compile(r"\{(answer|before|words)\}")  # in what a stop shows
_RESERVED_KEYS = ("lesson", "stop")  # written by the open lesson


@dataclass(frozen=True)
class Link:
    """A permalink to a page of this app: the page's slug, and a query with model, step, image, pin and controls.

    Raises:
        ValueError: if the slug or a key has a wrong form, or a value is too long.
    """

    slug: str
    query: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not _SLUG.fullmatch(self.slug):
            raise ValueError(f"expected a link that begins with a page's slug, received {self.slug[:40]!r}")
        if len(self.query) > MAX_LINK_KEYS:
            raise ValueError(f"expected a link of at most {MAX_LINK_KEYS} keys, received {len(self.query)}")
        for key, text in self.query:
            if not _KEY.fullmatch(key) or key in _RESERVED_KEYS:
                raise ValueError(f"expected a key like 'page.control', received {key[:40]!r}")
            if len(text) > MAX_LINK_VALUE_LENGTH or not text.isprintable():
                raise ValueError(
                    f"expected one line of at most {MAX_LINK_VALUE_LENGTH} characters for {key}, received {len(text)}"
                )
        if (length := len(str(self))) > MAX_LINK_LENGTH:
            raise ValueError(f"expected a link of at most {MAX_LINK_LENGTH} characters, received {length:,}")

    @classmethod
    def parse(cls, text: str) -> "Link":
        """Parse 'slug?key=value&…', the part of an address after the server; of equal keys the last counts.

        Raises:
            ValueError: if the text is too long or is not a link of this app.
        """
        if len(text) > MAX_LINK_LENGTH:
            raise ValueError(f"expected a link of at most {MAX_LINK_LENGTH} characters, received {len(text)}")
        slug, _, query = text.strip().partition("?")
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=2 * MAX_LINK_KEYS
        )
        return cls(slug.removeprefix("/"), tuple(dict(pairs).items()))

    @property
    def values(self) -> Mapping[str, str]:
        """The query by key."""
        return dict(self.query)

    def __str__(self) -> str:
        return f"{self.slug}?{urlencode(self.query, safe=':,')}" if self.query else self.slug


@dataclass(frozen=True)
class Question:
    """A question that the user answers by a prediction before the app measures the answer.

    proof: query parameters that the page applies afterwards, so that it shows the measured answer.

    Raises:
        ValueError: if the prompt is empty or too long.
    """

    prompt: str
    measure: Measure
    proof: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        _check_line("prompt", self.prompt, MAX_PROMPT_LENGTH)
        Link("home", self.proof)


@dataclass(frozen=True)
class Stop:
    """One stop of a lesson.

    words: the text, at most `MAX_WORDS` words. task: what the user does. check: decides whether the task is done.
    picture: a name of `PICTURES`, drawn below the text; '' for none.
    shows: what the done task shows; '{answer}' is the measured answer, '{before}' that before training and '{words}'
        its sentence. evidence: the measure of these numbers; by default the question's.

    Raises:
        ValueError: if a text is empty or too long, the check needs a question and there is none, or numbers are shown
            that nothing measures.
    """

    title: str
    link: Link
    words: str
    task: str
    check: Check
    question: Question | None = None
    shows: str = ""
    evidence: Measure | None = None
    picture: str = ""

    def __post_init__(self) -> None:
        _check_line("title", self.title, MAX_TITLE_LENGTH)
        _check_line("words", self.words, MAX_WORDS_LENGTH)
        _check_line("task", self.task, MAX_TASK_LENGTH)
        if (count := len(self.words.split())) > MAX_WORDS:
            raise ValueError(f"expected at most {MAX_WORDS} words, received {count}")
        if self.picture and self.picture not in PICTURES:
            raise ValueError(f"expected a picture of {', '.join(PICTURES)}, received {self.picture[:40]!r}")
        if isinstance(self.check, PredictionMade) and self.question is None:
            raise ValueError("expected a question for the check guess_made, received none")
        if self.shows:
            _check_line("shows", self.shows, MAX_SHOWS_LENGTH)
        if PLACEHOLDER.search(self.shows) and self.shown_measure is None:
            raise ValueError("expected evidence or a question for the numbers of shows, received none")

    @property
    def shown_measure(self) -> Measure | None:
        """The measure of the numbers in `shows`."""
        if self.evidence is not None or self.question is None:
            return self.evidence
        return self.question.measure


@dataclass(frozen=True)
class Lesson:
    """A lesson: its title, its stops in order, a one-sentence summary and its length in minutes.

    Raises:
        ValueError: if there is no stop, there are too many, or a text is too long.
    """

    title: str
    stops: tuple[Stop, ...]
    about: str = ""
    minutes: int = 0  # 0: unknown

    def __post_init__(self) -> None:
        _check_line("title", self.title, MAX_TITLE_LENGTH)
        if self.about:
            _check_line("about", self.about, MAX_ABOUT_LENGTH)
        if not 0 <= self.minutes <= MAX_MINUTES:
            raise ValueError(f"expected minutes in 0..{MAX_MINUTES}, received {self.minutes}")
        if not 1 <= len(self.stops) <= MAX_STOPS:
            raise ValueError(f"expected 1 to {MAX_STOPS} stops, received {len(self.stops)}")


def _check_line(name: str, text: str, longest: int) -> None:
    if not text.strip():
        raise ValueError(f"{name} is empty")
    if len(text) > longest:
        raise ValueError(f"expected {name} of at most {longest} characters, received {len(text)}")
    if not text.isprintable():
        raise ValueError(f"{name} contains a character that cannot be printed")
