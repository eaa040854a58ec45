"""Read the cut-out parts and their positions from link, session and view."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pages.controls import query_params, widgets
from pages.controls.view_state import ViewState, read_state
from vitviz.analysis.image_parts import Parts, decode_parts, encode_parts


@dataclass(frozen=True)
class PartControls(widgets.ControlValues, page="on_picture"):
    """The parts as `vitviz.analysis.image_parts.encode` writes them, and whether the model input is drawn."""

    apart: str
    apart_seen: bool


def read_parts(
    subject: tuple[Any, ...], size: int, view: str, make_default: Callable[[], Parts]
) -> tuple[Parts, ViewState[PartControls]]:
    """Return the current parts, and the state of the view.

    Args:
        subject: image, crop and size; another subject resets the parts.
        size: the side of the models' input, in px.
        view: key of the view, whose state is 'moved'.
        make_default: makes the parts if neither link nor session has any.
    """
    link = {field: query_params.take_value(PartControls.key(field)) for field in ("apart", "apart_seen")}

    def begin(before: ViewState[PartControls] | None) -> PartControls:
        if before is not None and before.subject == subject:
            return parse_state(link, before.values, size)
        return parse_state(link, PartControls(encode_parts(make_default()), False), size)

    state = read_state(
        "on_picture._apart",
        (view, "moved"),
        subject,
        begin,
        lambda event, before: parse_state(event, before, size),
        linked=any(text is not None for text in link.values()),
    )
    query_params.set_value(PartControls.key("apart"), state.values.apart)
    query_params.set_value(PartControls.key("apart_seen"), widgets.encode_value(state.values.apart_seen))
    parts = decode_parts(state.values.apart, size)
    assert parts is not None  # `parse_state` returns only decodable parts
    return parts, state


def parse_state(fields: dict[str, Any], default: PartControls, size: int) -> PartControls:
    """Return the fields of a browser event or a link, checked one by one; invalid ones from `default`."""
    apart, seen = fields.get("apart"), fields.get("apart_seen")
    if isinstance(seen, str):
        seen = {"1": True, "0": False}.get(seen)
    return PartControls(
        apart if isinstance(apart, str) and decode_parts(apart, size) is not None else default.apart,
        seen if isinstance(seen, bool) else default.apart_seen,
    )
