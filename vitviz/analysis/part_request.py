"""What a view of the map asks to be opened, checked: it comes from a browser."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vitviz.pin import Pin

MOST_TEXT = 200  # characters of a question
MOST_INDEX = 1_000_000


@dataclass(frozen=True)
class Asked:
    """What a view asks to open: a part, for a token; head, class and channel from 0, None: the part's own choice."""

    part: str
    pin: Pin
    head: int | None = None
    chosen_class: int | None = None
    channel: int | None = None

    @classmethod
    def parse(cls, text: object, pin: Pin) -> Asked | None:
        """What a view sent, with the visit's pin where it names no token; None for anything else."""
        if not isinstance(text, str) or not 0 < len(text) <= MOST_TEXT:
            return None
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(said, dict) or not isinstance(said.get("part"), str):
            return None
        token = said.get("token")
        at = pin if token is None else Pin.parse(token) if isinstance(token, str) else None
        if at is None:
            return None
        numbers = {name: said.get(name) for name in ("head", "class", "channel")}
        if any(value is not None and not _is_index(value) for value in numbers.values()):
            return None
        return cls(said["part"], at, numbers["head"], numbers["class"], numbers["channel"])

    def within(self, most: int | None, value: int | None, default: int) -> int:
        """A choice, or the default where it is none of `most`."""
        return value if value is not None and most is not None and value < most else default


def _is_index(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_INDEX
