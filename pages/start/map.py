"""The whole model alive on one screen, and the answer for the part that is opened in it."""

from __future__ import annotations

from pages.views.event_values import events_of
from pages.views.register import register

_map = register(__file__, "map", "map", "map_panel")
_part = register(__file__, "map_part")
EVENTS = ("pin", "open", "go")


def draw_map(message: bytes, *, key: str) -> None:
    """Mounts the map, the message of `vitviz.plots.map.for_visit`; `events` says what the visitor did."""
    _map(message, key=key, triggers=EVENTS)


def draw_part(message: bytes, *, key: str) -> None:
    """Gives the map what is open in it, the message of `vitviz.plots.map_part.part_view`: the map is not sent."""
    _part(message, key=key)


def events(key: str) -> dict[str, str]:
    """What the visitor did in this run, by name: 'pin', 'open', 'go'."""
    found = events_of(key)
    return {name: str(found[name]) for name in EVENTS if found.get(name) is not None}
