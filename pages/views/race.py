"""A race of models: accuracy over time with a name at every line's end, and whole against shuffled pictures."""

from __future__ import annotations

from pages.views.register import register

_CSS = """
.ra-stage { display: flex; flex-wrap: wrap; gap: 24px; }
.ra-stage > div { min-width: 0; }
.ra-title { font-weight: 600; min-height: 20px; }
.ra-note { color: var(--vv-muted); font-size: 0.8125rem; min-height: 20px; margin-bottom: 4px; }
.ra-curves { cursor: crosshair; touch-action: pan-y !important; }
"""
_race = register(__file__, "race", css=_CSS)


def race(payload: bytes, *, key: str) -> None:
    """Mounts what `vitviz.plots.race.payload` packed."""
    _race(payload, key=key)
