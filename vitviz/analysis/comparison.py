"""Runs side by side: only what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def differences(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names whose values are not the same in every row, in the order in which they first appear.

    A name that one row has and another lacks differs.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return [
        name
        for name in names
        if any((name in row) != (name in rows[0]) for row in rows) or _varies(rows, name)
    ]


def _varies(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(row[name] != rows[0][name] for row in rows if name in row and name in rows[0])
