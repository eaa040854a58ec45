"""Build frozen dataclasses from a file's tables, checking the type of every field."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from vitviz.text import cut

T = TypeVar("T")
MAX_TEXT_LENGTH = 160
MAX_TEXTS = 12  # of a list
MAX_NUMBER = 1e6


class LessonError(ValueError):
    """A lesson's file is invalid; the message names the place in it."""


def build_dataclass(cls: type[T], table: Mapping[str, Any], place: str) -> T:
    """Return a frozen dataclass of texts, numbers and booleans built from a table of a file.

    Args:
        cls: the dataclass; its fields are the allowed names, those without a default are required.
        table: as `tomllib` read it.
        place: of the table, for errors, such as 'stop 3, check'.

    Raises:
        LessonError: if a name is unknown or missing, or a value has another type, is too long or too large, or is
            refused by the class.
    """
    hints, known = _type_hints(cls), {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for name in table.keys() - known.keys():
        raise LessonError(f"{place}: expected a key of {list_names(known)}, received {cut(name, 40)!r}")
    required = [f.name for f in known.values() if f.default is MISSING and f.default_factory is MISSING]
    for name in required:
        if name not in table:
            raise LessonError(f"{place}: {name!r} is missing")
    values = {name: _check_value(hints[name], entry, f"{place}, {name}") for name, entry in table.items()}
    try:
        return cls(**values)
    except LessonError:
        raise
    except ValueError as error:
        raise LessonError(f"{place}: {error}") from error


def list_names(names: Mapping[str, object]) -> str:
    """Return the names, sorted, as 'a, b and c'."""
    *most, last = sorted(names) or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


@cache
def _type_hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _check_value(hint: Any, entry: Any, place: str) -> Any:
    if type(entry) is int and abs(entry) > MAX_NUMBER:  # before it becomes a float, which may overflow
        raise LessonError(f"{place}: expected a number of at most {MAX_NUMBER:g}, received a larger one")
    if get_origin(hint) is tuple:
        if not isinstance(entry, list | tuple) or len(entry) > MAX_TEXTS:
            raise LessonError(f"{place}: expected a list of at most {MAX_TEXTS} texts")
        return tuple(_check_value(str, text, place) for text in entry)
    kinds = tuple(kind for kind in get_args(hint) or (hint,) if kind is not type(None))
    if float in kinds and type(entry) is int:
        entry = float(entry)
    if type(entry) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise LessonError(f"{place}: expected {expected}, received {type(entry).__name__}")
    if isinstance(entry, str) and not (len(entry) <= MAX_TEXT_LENGTH and entry.isprintable()):
        raise LessonError(
            f"{place}: expected one line of at most {MAX_TEXT_LENGTH} characters, received {len(entry)}"
        )
    if isinstance(entry, int | float) and not (math.isfinite(entry) and abs(entry) <= MAX_NUMBER):
        raise LessonError(f"{place}: expected a number of at most {MAX_NUMBER:g}, received {entry:g}")
    return entry
