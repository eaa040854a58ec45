"""Parse numbers from query parameters and other text that a stranger may have written."""

from __future__ import annotations

import re

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
