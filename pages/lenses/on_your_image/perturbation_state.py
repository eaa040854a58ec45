"""What the visitor moves in the picture itself: slider, cover, pieces. It begins with what a link says."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.views.event_values import events_of, fields
from vitviz.analysis.changes import CHANGES, WHOLE, Setting
from vitviz.number_text import parse_float, parse_int

_BEGUN = "on_picture._begun"  # of the session: its Begun; among what is kept the same with what is moved now
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True)
class Hand(widgets.Chosen, page="on_picture"):
    """The slider's place from 0, the cover's middle in [0, 1], which piece lies where, and what is drawn.

    seen: whether what the models read is drawn, and not the photograph.
    """

    at: int
    place: tuple[float, float] = (0.5, 0.5)
    pieces: tuple[int, ...] = WHOLE
    seen: bool = False

    def setting(self, seed: int, change: str) -> Setting:
        """What a change depends on beside its strength; of what it does not use nothing."""
        return Setting(
            place=self.place if change == "occlude" else (0.5, 0.5),
            seed=seed if change in ("noise", "shuffle") else 0,
            pieces=self.pieces if change == "pieces" else WHOLE,
        )

    def words(self) -> dict[str, str]:
        """As a link holds it, by field."""
        return {
            "at": str(self.at),
            "place": widgets.encode(self.place),
            "pieces": "".join(_DIGITS[piece] for piece in self.pieces),
            "seen": widgets.encode(self.seen),
        }


@dataclass(frozen=True)
class Begun:
    """What a view is told to begin with; what it says later counts if it says it of this beginning."""

    mark: int
    of: tuple[str, str]  # change and picture
    hand: Hand


def begin(change: str) -> int:
    """Where a slider stands at first: a third of the way from what changes nothing to its end."""
    chosen = CHANGES[change]
    last = len(chosen.values) - 1
    return chosen.start + max(1, (last - chosen.start) // 3)


def now(change: str, image: str, view: str) -> tuple[Hand, Begun]:
    """What the visitor has moved by now, and what the view began with; written into the link.

    Args:
        view: key of the view, whose state is 'moved'.
    """
    told = {
        field: said for field in Hand(0).words() if (said := query_params.take(Hand.key(field))) is not None
    }
    begun: Begun | None = st.session_state.get(_BEGUN)
    if begun is None or told or begun.of != (change, image):
        begun = _begun(begun, told, (change, image))
        st.session_state[_BEGUN] = begun
    moved = fields(events_of(view).get("moved"))
    hand = parsed(moved, begun.hand, change) if moved.get("mark") == begun.mark else begun.hand
    st.session_state.setdefault(session_keys.KEPT, {})[_BEGUN] = Begun(begun.mark, (change, image), hand)
    for field, text in hand.words().items():
        query_params.put(Hand.key(field), text)
    return hand, begun


def _begun(before: Begun | None, told: dict[str, str], of: tuple[str, str]) -> Begun:
    kept: Begun = session_keys.kept().get(_BEGUN, Begun(0, ("", ""), Hand(-1)))
    stays = kept.of[0] == of[0]  # another picture, the same change; or this one after a reload
    hand = replace(kept.hand, at=kept.hand.at if stays else begin(of[0]))
    return Begun(1 if before is None else before.mark + 1, of, read(told, hand, of[0]))


def read(told: dict[str, str], otherwise: Hand, change: str) -> Hand:
    """What a link says; each field that says nothing valid is `otherwise`'s."""
    values: dict[str, Any] = {}
    if "at" in told:
        values["at"] = parse_int(told["at"])
    if "place" in told:
        values["place"] = [parse_float(part) for part in told["place"].split(",")]
    if "pieces" in told and {*told["pieces"]} <= {*_DIGITS}:
        values["pieces"] = [_DIGITS.index(digit) for digit in told["pieces"]]
    if told.get("seen") in ("0", "1"):
        values["seen"] = told["seen"] == "1"
    return parsed(values, otherwise, change)


def parsed(said: dict[str, Any], otherwise: Hand, change: str) -> Hand:
    """What a browser says, each field checked; what is missing or impossible is `otherwise`'s."""
    at, place, pieces, seen = _values(said, otherwise)
    last = len(CHANGES[change].values) - 1
    start = otherwise.at if 0 <= otherwise.at <= last else begin(change)
    return Hand(
        at if type(at) is int and 0 <= at <= last else start,
        (float(place[0]), float(place[1])) if _is_place(place) else otherwise.place,
        tuple(pieces) if _is_order(pieces) else otherwise.pieces,
        seen if isinstance(seen, bool) else otherwise.seen,
    )


def _values(said: dict[str, Any], otherwise: Hand) -> list[Any]:
    return [said.get(field) for field in asdict(otherwise)]


def _is_place(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(at) in (int, float) and 0 <= at <= 1 for at in value)
    )


def _is_order(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == len(WHOLE)
        and all(type(piece) is int for piece in value)
        and sorted(value) == list(WHOLE)
    )
