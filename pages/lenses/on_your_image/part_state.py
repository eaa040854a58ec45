"""Read the cut-out parts and their positions from link, session and view."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.views.event_values import read_events, read_fields
from vitviz.analysis.image_parts import Parts, decode_parts, encode_parts

_STATE_KEY = (
    "on_picture._apart"  # of an InitialState in the session; its copy among CONTROL_VALUES is current
)


@dataclass(frozen=True)
class PartControls(widgets.ControlValues, page="on_picture"):
    """The parts as `vitviz.analysis.image_parts.encode` writes them, and whether the model input is drawn."""

    apart: str
    apart_seen: bool


@dataclass(frozen=True)
class InitialState:
    """The state that a view starts from; only its events with the same mark count."""

    mark: int
    subject: tuple[Any, ...]  # image, crop, size
    controls: PartControls


def read_state(
    subject: tuple[Any, ...], size: int, view: str, make_default: Callable[[], Parts]
) -> tuple[Parts, PartControls, int]:
    """Return the current parts, the same as control values, and the mark of the view's initial state.

    Args:
        subject: image, crop and size; another subject resets the parts.
        size: the side of the models' input, in px.
        view: key of the view, whose state is 'moved'.
        make_default: makes the parts if neither link nor session has any.
    """
    link = {field: query_params.take_value(PartControls.key(field)) for field in ("apart", "apart_seen")}
    initial: InitialState | None = st.session_state.get(_STATE_KEY)
    current: InitialState | None = session_keys.get_control_values().get(_STATE_KEY)
    if initial is None or initial.subject != subject or any(text is not None for text in link.values()):
        if current is not None and current.subject == subject:
            before = current.controls
        else:
            before = PartControls(encode_parts(make_default()), False)
        mark = 1 if initial is None else initial.mark + 1
        initial = InitialState(mark, subject, parse_state(link, before, size))
        st.session_state[_STATE_KEY] = current = initial
    controls = initial.controls if current is None else current.controls
    event = read_fields(read_events(view).get("moved"))
    if event.get("mark") == initial.mark:
        controls = parse_state(event, controls, size)
    st.session_state.setdefault(session_keys.CONTROL_VALUES, {})[_STATE_KEY] = InitialState(
        initial.mark, subject, controls
    )
    query_params.set_value(PartControls.key("apart"), controls.apart)
    query_params.set_value(PartControls.key("apart_seen"), widgets.encode_value(controls.apart_seen))
    parts = decode_parts(controls.apart, size)
    assert parts is not None  # `parse_state` returns only decodable parts
    return parts, controls, initial.mark


def parse_state(fields: dict[str, Any], default: PartControls, size: int) -> PartControls:
    """Return the fields of a browser event or a link, checked one by one; invalid ones from `default`."""
    apart, seen = fields.get("apart"), fields.get("apart_seen")
    if isinstance(seen, str):
        seen = {"1": True, "0": False}.get(seen)
    return PartControls(
        apart if isinstance(apart, str) and decode_parts(apart, size) is not None else default.apart,
        seen if isinstance(seen, bool) else default.apart_seen,
    )
