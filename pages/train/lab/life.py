"""A run's life as a timeline with pictures: all snapshots' arrays travel once, dragging is the browser's."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_life = register(__file__, "life")


def life(payload: bytes, *, key: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Mounts the timeline that `vitviz.plots.life.payload` packed.

    Returns the moment that the visitor settled on (run, step, follow), and what was opened in this run of the script.
    """
    result = _life(payload, key=key, states=("moment",), triggers=("open",))
    return result.moment, result.open
