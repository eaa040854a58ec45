"""Format numbers and user texts for the interface."""

import errno
import re
from collections.abc import Sequence
from functools import lru_cache

from vitviz import glossary

FOREIGN = "\N{WORD JOINER}"  # has no width: around another's words that sound like the glossary's
_SIZE = re.compile(r"[\d,]+ × [\d,]+(?: px\b)?")
_PLAIN = str.maketrans({c: f"\\{c}" for c in r"\`*_{}[]()#+-.!|<>:$~^&"})


def percent(share: float, digits: int = 1) -> str:
    """Return a share in words, such as '98.5 %' or '100 %'; the space before the sign does not break."""
    text = f"{100 * share:.{digits}f}"
    return ("100" if float(text) == 100 else text) + "\N{NO-BREAK SPACE}%"


def round_share(share: float, digits: int = 1) -> str:
    """Return a percentage with enough digits that less than 100 % is never rounded to it."""
    places = next((n for n in range(digits, 5) if share >= 1 or round(100 * share, n) < 100), 5)
    return percent(share, places)


def of_each(progress: float) -> str:
    """Return the progress of models that make unequal steps."""
    return f"{percent(progress, 0)} of each model's training"


def signed(number: float, digits: int = 2) -> str:
    """Return a number with a true minus sign, and none before zero."""
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")


def gained(difference: float, digits: int = 1) -> str:
    """Return a difference with its sign: '+1.2', '−0.6'; 0 has none."""
    text = signed(difference, digits)
    return f"+{text}" if float(text.replace("\N{MINUS SIGN}", "-")) > 0 else text


def percent_difference(share: float, other: float, digits: int = 1) -> float:
    """Points from another share to this one as `percent` shows both: 0.5 from 94.0 to 94.5 %, whatever was rounded."""
    return round(round(100 * share, digits) - round(100 * other, digits), digits)


def cut(text: str, most: int = 80) -> str:
    """Return foreign text as one printable line of limited length, with an ellipsis."""
    start = " ".join("".join(c if c.isprintable() else " " for c in text[: most + 1]).split())
    return start if len(text) <= most else f"{start[: most - 1]}…"


def reason(error: Exception) -> str:
    """Return the cause of an error for a sentence, without error number and path."""
    return "the disk is full" if is_disk_full(error) else getattr(error, "strerror", None) or str(error)


def is_disk_full(error: Exception) -> bool:
    """Return True if a file could not be written because the disk or the user's quota is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@lru_cache(maxsize=1024)
def plain(text: str) -> str:
    """Return the text from outside as it is, where Markdown would read it: every sign of Markdown's loses its meaning.

    A text with a word of the glossary stands between two `FOREIGN`, so that nobody explains it as ours.
    """
    escaped = as_it_is(text)
    return f"{FOREIGN}{escaped}{FOREIGN}" if glossary.mentions_term(text) else escaped


def as_it_is(text: str) -> str:
    """Our own text without Markdown in it, where Markdown would be read; another's goes through `plain`."""
    return text.translate(_PLAIN)


def join_words(words: Sequence[str]) -> str:
    """Return one word or more as a sentence has them: 'a', 'a and b', 'a, b and c'."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def split_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of a text, and the rest; a full stop ends it before a space."""
    first, *rest = re.split(r"(?<=[.!?]) (?=[A-Z0-9'`*\[])", text, maxsplit=1)
    return first, "".join(rest)


def plural(count: int, noun: str, many: str = "") -> str:
    """Return a count with its noun: '1 patch', '1,024 patches'; the plural takes an s where none is given."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def unbroken(text: str) -> str:
    """Return a text in which a size stays on one line: '32 × 32 px', '7 × 7'."""
    return _SIZE.sub(lambda match: match[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


# ASCII digits only, and few enough that an int fits a float and a float is finite. int() and float() also accept
# other scripts' digits, underscores, whitespace and numbers of any size.
_INT = re.compile(r"[+-]?[0-9]{1,18}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,2})?")


def parse_int(text: str) -> int | None:
    """Return the integer, or None if the text is no integer of at most 18 digits."""
    return int(text) if _INT.fullmatch(text) else None


def parse_float(text: str) -> float | None:
    """Return the finite number, or None if the text is no decimal number between -1e139 and 1e139."""
    return float(text) if _FLOAT.fullmatch(text) else None


def in_sentence(title: str) -> str:
    """Return a title as it stands inside a sentence; one with capitals inside, such as AttnLRP, keeps them."""
    return title if any(letter.isupper() for letter in title[1:]) else title.lower()
