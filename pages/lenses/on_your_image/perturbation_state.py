"""Read the slider, the occluding square and the pieces from link, session and view."""

from dataclasses import asdict, dataclass, replace
from typing import Any, TypeGuard

from pages.controls import query_params, widgets
from pages.controls.view_state import ViewState, read_state
from vitviz.analysis.image_changes import CHANGES, WHOLE, Setting
from vitviz.text import parse_float, parse_int

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


def read_view(change: str, image: str, view: str) -> ViewState[PerturbationView]:
    """Return the state of the view, whose event is 'moved'; write its values into the link."""
    link = {
        field: text
        for field in PerturbationView(0).encode_fields()
        if (text := query_params.take_value(PerturbationView.key(field))) is not None
    }

    def begin(before: ViewState[PerturbationView] | None) -> PerturbationView:
        values = PerturbationView(-1) if before is None else before.values
        # The slider stays when only the image changes, and after a reload.
        if before is None or before.subject[0] != change:
            values = replace(values, at=CHANGES[change].start)
        return parse_link(link, values, change)

    state = read_state(
        "on_picture._begun",
        (view, "moved"),
        (change, image),
        begin,
        lambda event, before: parse_event(event, before, change),
        linked=bool(link),
    )
    for field, text in state.values.encode_fields().items():
        query_params.set_value(PerturbationView.key(field), text)
    return state


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


def _is_place(place: Any) -> TypeGuard[list[float]]:
    return (
        isinstance(place, list)
        and len(place) == 2
        and all(type(at) in (int, float) and 0 <= at <= 1 for at in place)
    )


def _is_order(pieces: Any) -> TypeGuard[list[int]]:
    return (
        isinstance(pieces, list)
        and len(pieces) == len(WHOLE)
        and all(type(piece) is int for piece in pieces)
        and sorted(pieces) == list(WHOLE)
    )
