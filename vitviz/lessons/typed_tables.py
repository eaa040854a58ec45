"""Frozen dataclasses from a file's tables: every field checked by its own type, every refusal with its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from vitviz.text import cut

T = TypeVar("T")
LONGEST = 80  # characters of a parameter that is text
LARGEST = 1e6  # of a parameter that is a number


class LessonError(ValueError):
    """A lesson's file is not one: a sentence that names the place in it."""


def build(cls: type[T], given: Mapping[str, Any], place: str) -> T:
    """A frozen dataclass of texts, numbers and switches from a table of a file.

    Args:
        cls: its fields are the names that may stand there; those without a default must.
        given: the table as `tomllib` read it.
        place: for the sentence, such as 'stop 3, check'.

    Raises:
        LessonError: if a name is unknown or missing, or a value is of another type, too long or too large, or none
            that the class takes.
    """
    hints, known = _hints(cls), {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    for name in given.keys() - known.keys():
        raise LessonError(f"{place}: {cut(name, 40)!r} is no name here, expected one of {listed(known)}")
    needed = [f.name for f in known.values() if f.default is MISSING and f.default_factory is MISSING]
    for name in needed:
        if name not in given:
            raise LessonError(f"{place}: {name!r} is missing")
    values = {name: _checked(hints[name], value, f"{place}, {name}") for name, value in given.items()}
    try:
        return cls(**values)
    except LessonError:
        raise
    except ValueError as error:
        raise LessonError(f"{place}: {error}") from error


def listed(names: Mapping[str, object]) -> str:
    """'a, b and c': the names that may stand somewhere."""
    *most, last = sorted(names) or ["nothing"]
    return f"{', '.join(most)} and {last}" if most else last


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _checked(hint: Any, value: Any, place: str) -> Any:
    if type(value) is int and abs(value) > LARGEST:  # before it becomes a float, which may overflow
        raise LessonError(f"{place}: expected a number of at most {LARGEST:g}, received a larger one")
    kinds = tuple(kind for kind in get_args(hint) or (hint,) if kind is not type(None))
    if float in kinds and type(value) is int:
        value = float(value)
    if type(value) not in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise LessonError(f"{place}: expected {wanted}, received {type(value).__name__}")
    if isinstance(value, str) and not (len(value) <= LONGEST and value.isprintable()):
        raise LessonError(
            f"{place}: expected one line of at most {LONGEST} characters, received {len(value)}"
        )
    if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= LARGEST):
        raise LessonError(f"{place}: expected a number of at most {LARGEST:g}, received {value:g}")
    return value
