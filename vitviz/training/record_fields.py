"""Check the fields of an imported run's records.

Unknown fields are dropped; an incomplete record is skipped with its reason.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any

from vitviz.text import cut

MAX_STEP = 10**9
MOST_TEXT = 200
MOST_CLASSES = 1000
_LARGE = 1e12


class FieldError(ValueError):
    """An invalid value; the message has the expected and the received one."""


FieldCheck = Callable[[str, Any], Any]


def number(low: float = -_LARGE, high: float = _LARGE) -> FieldCheck:
    """Return a finite number between two bounds, as a float."""

    def check(name: str, field: Any) -> float:
        if isinstance(field, int | float) and not isinstance(field, bool) and low <= field <= high:
            return float(field)
        raise FieldError(f"{name} must be a number from {low:g} to {high:g}, received {shorten_value(field)}")

    return check


def integer(name: str, field: Any) -> int:
    """Return an integer from 0 to `MAX_STEP`."""
    if isinstance(field, int) and not isinstance(field, bool) and 0 <= field <= MAX_STEP:
        return field
    raise FieldError(f"{name} must be a whole number from 0 to {MAX_STEP:,}, received {shorten_value(field)}")


def text(*allowed: str) -> FieldCheck:
    """Return one of these words, or where none is given any short text."""

    def check(name: str, field: Any) -> str:
        if isinstance(field, str) and (field in allowed if allowed else len(field) <= MOST_TEXT):
            return field if allowed else cut(field, MOST_TEXT)
        wanted = f"one of {', '.join(allowed)}" if allowed else f"a text of up to {MOST_TEXT} characters"
        raise FieldError(f"{name} must be {wanted}, received {shorten_value(field)}")

    return check


def _confusion(name: str, table: Any) -> list[list[int]]:
    """Return a square table of counts, or an empty one."""
    rows: list[Any] = table if isinstance(table, list) and len(table) <= MOST_CLASSES else [None]
    if all(isinstance(row, list) and len(row) == len(rows) for row in rows):
        for row in rows:  # a million counts: checked together, and one by one where one of them does not fit
            if {*map(type, row)} - {int} or (row and not 0 <= min(row) <= max(row) <= MAX_STEP):
                return [[integer(name, count) for count in row] for row in rows]
        return rows
    raise FieldError(f"{name} must be a square table of counts, received {shorten_value(table)}")


CHECKS: dict[str, FieldCheck] = dict.fromkeys(("step", "seen", "images"), integer)
CHECKS |= dict.fromkeys(("epoch", "seconds", "gradient_norm", "images_per_second", "time"), number(0))
CHECKS |= dict.fromkeys(("accuracy", "shuffled"), number(0, 1))
CHECKS |= dict.fromkeys(("learning_rate", "weight_decay"), number(0, 10))
CHECKS |= dict.fromkeys(("event", "refused", "message"), text())
CHECKS |= {"loss": number(), "split": text("validation", "test"), "confusion": _confusion}
# Of each kind of record the fields that it must have, and those that it may have.
_FIELDS = {
    "step": (
        "step epoch seen loss accuracy learning_rate weight_decay gradient_norm images_per_second seconds",
        "",
    ),
    "evaluation": ("split step epoch accuracy loss images seconds", "confusion"),
    "snapshot": ("step epoch seconds", ""),
    "shuffled": ("split step epoch accuracy shuffled images confusion", ""),
    "event": ("step event", "time learning_rate weight_decay refused message"),
}


def checked_record(values: Any) -> dict[str, Any]:
    """Return a record with its known fields only.

    Raises:
        FieldError: naming the first field that is missing or does not fit.
    """
    if not isinstance(values, dict):
        raise FieldError(f"a record is an object, received {shorten_value(values)}")
    kind = text(*_FIELDS)("kind", values.get("kind"))
    required, optional = (names.split() for names in _FIELDS[kind])
    names = required + [name for name in optional if values.get(name) is not None]
    return {"kind": kind} | {name: CHECKS[name](name, values.get(name)) for name in names}


def shorten_value(field: Any) -> str:
    """Return a stranger's value for a sentence: short, whatever it is."""
    if field is None:
        return "nothing"
    if isinstance(field, dict | list):
        return "an object" if isinstance(field, dict) else "a list"
    if isinstance(field, int) and abs(field) > 10**18:  # thousands of digits cannot even be written
        return "a number of more than 18 digits"
    if isinstance(field, float) and not isfinite(field):
        return "no finite number"
    return cut(repr(field[:MOST_TEXT] if isinstance(field, str) else field))
