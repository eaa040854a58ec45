"""The step or the picture in a lesson's panel, where a stop asks for it: on a phone and while presenting there is no
sidebar to reach for.
"""

from __future__ import annotations

import streamlit as st

from pages.controls import query_params, session_keys
from pages.lessons.open_lesson import Open
from pages.selection import image_picker, run_follower, selection
from pages.stores import cached, catalogue
from pages.views.register import register
from vitviz.lessons.task_checks import Picture, Step
from vitviz.plots.blob import pack

_step_view = register(__file__, "panel_step")


def draw(now: Open) -> None:
    """The control that the stop asks for, if it is the sidebar's; what is chosen becomes the sidebar's own."""
    if isinstance(now.stop.check, Step):
        _step()
    elif isinstance(now.stop.check, Picture):
        if not now.stop.check.key:  # any other picture will do
            _own_picture()
        _next_picture()


def _step() -> None:
    model, step = selection.choice(), selection.current().step
    if len(model.steps) == 1 or run_follower.follows(model):
        return
    payload = pack({"steps": list(model.steps), "at": model.steps.index(step)})
    said = _step_view(payload, key="lesson.step", triggers=("step",)).step
    if said in model.steps and said != step:  # what a browser says is checked
        query_params.want("step", str(said))
        st.rerun()


def _own_picture() -> None:
    """The panel runs alone when a file has come: the page runs once more, or the panel says why the file is refused."""
    image_picker.bring("lesson")
    if session_keys.kept().get("image") != selection.current().image:
        st.rerun()
    if notice := st.session_state.pop(session_keys.NOTICE, None):
        st.warning(notice, icon=":material/info:")


def _next_picture() -> None:
    name, _, index = selection.current().image.partition(":")
    if name not in catalogue.datasets():
        return
    if st.button("Next picture of the set", icon=":material/skip_next:", key="lesson.picture"):
        selection.set_image(f"{name}:{(int(index) + 1) % cached.examples(name)}")
        st.rerun()
