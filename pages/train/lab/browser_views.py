"""Mount the lab's views that are drawn in the browser: training curves, the timeline and the drawing pad."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pages.views.event_values import read_events, read_fields, read_index
from pages.views.register import register
from vitviz.data.drawings import draw_strokes, is_drawing

TIMELINE_KEY = "live_lab.life"
_curves = register(__file__, "curves")
_digit_pad = register(__file__, "digit_pad")
_timeline = register(__file__, "timeline")


def mount_curves(payload: bytes, *, key: str) -> tuple[dict[str, Any] | None, int | None]:
    """Mount curves packed by `vitviz.plots.training_curves.payload`.

    Returns:
        The toolbar's state once it was changed, and the step that was selected in this run of the script.
    """
    events = _curves(payload, key=key, states=("view",), triggers=("moment",))
    return (read_fields(events.view) or None), read_index(events.moment)


def mount_timeline(payload: bytes) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Mount a timeline packed by `vitviz.plots.flip_book.payload`.

    Returns:
        The selected moment (run, step, follow), and the lens that was opened in this run of the script.
    """
    events = _timeline(payload, key=TIMELINE_KEY, states=("moment",), triggers=("open", "again"))
    return parse_moment(events.moment), read_fields(events.open)


def requests_resend() -> bool:
    """Return True if the browser has lost a timeline message; call it before `mount_timeline`."""
    return bool(read_events(TIMELINE_KEY).get("again"))


def parse_moment(event: object) -> dict[str, Any] | None:
    """Return the moment that the browser sent, or None if it is malformed."""
    fields = read_fields(event)
    step = read_index(fields.get("step"))
    if not isinstance(fields.get("run"), str) or (step is None and not fields.get("follow")):
        return None
    return {"run": fields["run"], "step": step, "follow": bool(fields.get("follow"))}


def mount_digit_pad(payload: bytes, *, key: str) -> None:
    """Mount the drawing pad; `read_drawing` returns what is drawn on it."""
    _digit_pad(payload, key=key, states=("drawing",))


def read_drawing(key: str) -> NDArray[np.uint8] | None:
    """Return the image (224, 224, 3) that is drawn on the pad with this key, or None while it is empty."""
    strokes = read_events(key).get("drawing")
    return draw_strokes(strokes) if isinstance(strokes, str) and strokes and is_drawing(strokes) else None
