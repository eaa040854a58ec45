"""Let a teacher draw over the picture of a page, and show the strokes to the learners who see that page."""

import streamlit as st

from pages.classroom import membership
from pages.classroom.membership import Membership
from pages.controls import session_keys
from pages.controls.notices import toast_errors
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.classes import teacher_strokes
from vitviz.plots.blob import pack

KEY = "class.pen"
_pen = register(__file__, "pen")


def draw_button() -> None:
    """Draw the teacher's pen, and share the stroke that was drawn since the last run."""
    member = membership.get_membership()
    if member is None or not member.leads:
        return
    stroke = read_events(KEY).get("stroke")
    if stroke is not None:
        with toast_errors("The class does not see this stroke"):
            page = str(st.session_state.get(session_keys.PAGE) or "")
            teacher_strokes.add_stroke(
                membership.get_class_store(), member.code, page, teacher_strokes.parse_points(stroke)
            )
    _pen(
        pack({"draws": True, "strokes": [], "limit": teacher_strokes.MAX_POINTS}),
        key=KEY,
        triggers=("stroke",),
    )


def draw_strokes(member: Membership, slug: str) -> None:
    """Draw the strokes over a learner's page; nothing while there are none.

    Raises:
        ClassError: if the database of classes cannot be read.
    """
    strokes = teacher_strokes.load_strokes(membership.get_class_store(), member.code)
    if shown := [[stroke.left_s, stroke.points] for stroke in strokes if stroke.page == slug]:
        _pen(pack({"draws": False, "strokes": shown}), key=KEY, height=1)
