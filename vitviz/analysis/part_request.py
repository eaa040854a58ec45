"""Parse the browser's request to open a part of the map."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vitviz.pin import Pin

MOST_TEXT = 200  # characters of a request
MOST_INDEX = 1_000_000


@dataclass(frozen=True)
class PartRequest:
    """Request for a part and a token; head, class and channel are 0-based, None selects the part's default."""

    part: str
    pin: Pin
    head: int | None = None
    chosen_class: int | None = None
    channel: int | None = None

    @classmethod
    def parse(cls, text: object, pin: Pin) -> PartRequest | None:
        """Parse a view's JSON, with the session's pin if it names no token; None if it is invalid."""
        if not isinstance(text, str) or not 0 < len(text) <= MOST_TEXT:
            return None
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict) or not isinstance(fields.get("part"), str):
            return None
        token = fields.get("token")
        token_pin = pin if token is None else Pin.parse(token) if isinstance(token, str) else None
        if token_pin is None:
            return None
        indices = {name: fields.get(name) for name in ("head", "class", "channel")}
        if any(index is not None and not _is_index(index) for index in indices.values()):
            return None
        return cls(fields["part"], token_pin, indices["head"], indices["class"], indices["channel"])


def select_index(index: int | None, count: int, default: int) -> int:
    """Return a requested index, or the default if it is None or out of range."""
    return index if index is not None and index < count else default


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_INDEX
