"""Find the settings in which runs differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def find_varying_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names whose values differ between rows that have them, in the order in which they first appear.

    A name that only some rows have does not differ by that: a CNN has no heads, which its kind says already.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if _varies([row[name] for row in rows if name in row])]


def _varies(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values)
