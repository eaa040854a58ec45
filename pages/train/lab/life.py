"""A run's life as a timeline with pictures: each snapshot's arrays travel once, dragging is the browser's."""

from __future__ import annotations

from typing import Any

from pages.views.event_values import events_of, fields, whole
from pages.views.register import register

KEY = "live_lab.life"
_life = register(__file__, "life")


def life(payload: bytes) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Mounts the timeline that `vitviz.plots.run_history.payload` packed.

    Returns the moment that the visitor settled on (run, step, follow), and what was opened in this run of the script.
    """
    result = _life(payload, key=KEY, states=("moment",), triggers=("open", "again"))
    return moment(result.moment), fields(result.open)


def asks_again() -> bool:
    """Whether the browser has lost a message, and asks for all that it may show; to be asked before `life`."""
    return bool(events_of(KEY).get("again"))


def moment(value: object) -> dict[str, Any] | None:
    """A moment as the browser says it; None for anything that is none."""
    found = fields(value)
    step = whole(found.get("step"))
    if not isinstance(found.get("run"), str) or (step is None and not found.get("follow")):
        return None
    return {"run": found["run"], "step": step, "follow": bool(found.get("follow"))}
