"""Read the slider, the occluding square and the pieces from link, session and view."""

from dataclasses import asdict, dataclass, replace
from typing import Any, TypeGuard

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.views.event_values import read_events, read_fields
from vitviz.analysis.image_changes import CHANGES, WHOLE, Setting
from vitviz.text import parse_float, parse_int

_STATE_KEY = (
    "on_picture._begun"  # of an InitialState in the session; its copy among CONTROL_VALUES is current
)
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True)
class PerturbationView(widgets.ControlValues, page="on_picture"):
    """The values that are set in the view itself.

    Attributes:
        at: the slider's position, from 0.
        place: the centre of the occluding square, in [0, 1].
        pieces: the piece at every position.
        seen: True if the model input is drawn instead of the photo.
    """

    at: int
    place: tuple[float, float] = (0.5, 0.5)
    pieces: tuple[int, ...] = WHOLE
    seen: bool = False

    def build_setting(self, seed: int, change: str) -> Setting:
        """Return the parameters that a change depends on besides its strength; unused ones have their default."""
        return Setting(
            place=self.place if change == "occlude" else (0.5, 0.5),
            seed=seed if change in ("noise", "shuffle") else 0,
            pieces=self.pieces if change == "pieces" else WHOLE,
        )

    def encode_fields(self) -> dict[str, str]:
        """Return the texts of a link, by field."""
        return {
            "at": str(self.at),
            "place": widgets.encode_value(self.place),
            "pieces": "".join(_DIGITS[piece] for piece in self.pieces),
            "seen": widgets.encode_value(self.seen),
        }


@dataclass(frozen=True)
class InitialState:
    """The state that a view starts from; only its events with the same mark count."""

    mark: int
    subject: tuple[str, str]  # change and image
    view: PerturbationView


def read_state(change: str, image: str, view_key: str) -> tuple[PerturbationView, InitialState]:
    """Return the current values and the view's initial state; write the values into the link.

    Args:
        view_key: key of the view, whose state is 'moved'.
    """
    link = {
        field: text
        for field in PerturbationView(0).encode_fields()
        if (text := query_params.take_value(PerturbationView.key(field))) is not None
    }
    initial: InitialState | None = st.session_state.get(_STATE_KEY)
    if initial is None or link or initial.subject != (change, image):
        initial = _create_initial(initial, link, (change, image))
        st.session_state[_STATE_KEY] = initial
    event = read_fields(read_events(view_key).get("moved"))
    current = parse_event(event, initial.view, change) if event.get("mark") == initial.mark else initial.view
    st.session_state.setdefault(session_keys.CONTROL_VALUES, {})[_STATE_KEY] = InitialState(
        initial.mark, (change, image), current
    )
    for field, text in current.encode_fields().items():
        query_params.set_value(PerturbationView.key(field), text)
    return current, initial


def _create_initial(
    before: InitialState | None, link: dict[str, str], subject: tuple[str, str]
) -> InitialState:
    stored: InitialState = session_keys.get_control_values().get(
        _STATE_KEY, InitialState(0, ("", ""), PerturbationView(-1))
    )
    change = subject[0]
    # The slider stays when only the image changes, and after a reload.
    at = stored.view.at if stored.subject[0] == change else CHANGES[change].start
    view = parse_link(link, replace(stored.view, at=at), change)
    return InitialState(1 if before is None else before.mark + 1, subject, view)


def parse_link(link: dict[str, str], default: PerturbationView, change: str) -> PerturbationView:
    """Return the fields of a link; invalid ones from `default`."""
    fields: dict[str, Any] = {}
    if "at" in link:
        fields["at"] = parse_int(link["at"])
    if "place" in link:
        fields["place"] = [parse_float(part) for part in link["place"].split(",")]
    if "pieces" in link and {*link["pieces"]} <= {*_DIGITS}:
        fields["pieces"] = [_DIGITS.index(digit) for digit in link["pieces"]]
    if link.get("seen") in ("0", "1"):
        fields["seen"] = link["seen"] == "1"
    return parse_event(fields, default, change)


def parse_event(fields: dict[str, Any], default: PerturbationView, change: str) -> PerturbationView:
    """Return the fields of a browser event, checked one by one; invalid ones from `default`."""
    at, place, pieces, seen = (fields.get(field) for field in asdict(default))
    last = len(CHANGES[change].values) - 1
    default_at = default.at if 0 <= default.at <= last else CHANGES[change].start
    return PerturbationView(
        at if type(at) is int and 0 <= at <= last else default_at,
        (float(place[0]), float(place[1])) if _is_place(place) else default.place,
        tuple(pieces) if _is_order(pieces) else default.pieces,
        seen if isinstance(seen, bool) else default.seen,
    )


def _is_place(value: Any) -> TypeGuard[list[float]]:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(at) in (int, float) and 0 <= at <= 1 for at in value)
    )


def _is_order(value: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(value, list)
        and len(value) == len(WHOLE)
        and all(type(piece) is int for piece in value)
        and sorted(value) == list(WHOLE)
    )
