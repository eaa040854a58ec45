"""A race of models: accuracy over time with a name at every line's end, and whole against shuffled pictures."""

from __future__ import annotations

from pages.views.register import register

_race = register(__file__, "race")


def race(payload: bytes, *, key: str) -> None:
    """Mounts what `vitviz.plots.race.payload` packed."""
    _race(payload, key=key)
