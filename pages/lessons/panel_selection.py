"""Draw the step or image control in a lesson's panel, because phones and presentation mode hide the sidebar."""

import streamlit as st

from pages.controls import query_params, session_keys
from pages.lessons.open_lesson import OpenStop
from pages.selection import image_picker, run_follower, selection
from pages.stores import cached, catalogue
from pages.views.register import register
from vitviz.lessons.task_checks import ImageChosen, StepInRange
from vitviz.plots.blob import pack

_step_view = register(__file__, "panel_step")


def draw(opened: OpenStop) -> None:
    """Draw the sidebar's control that the stop's task needs, if any; it changes the sidebar's selection."""
    check = opened.stop.check
    if isinstance(check, StepInRange):
        _draw_step_slider()
    elif isinstance(check, ImageChosen) and not opened.stop.link.values.get("image", "").startswith(
        "drawing:"
    ):
        if not check.key:  # any other image completes the task
            _draw_upload()
        _draw_next_button()


def _draw_step_slider() -> None:
    model, step = selection.get_model_choice(), selection.get_current().step
    if len(model.steps) == 1 or run_follower.follow_newest_step(model):
        return
    payload = pack({"steps": list(model.steps), "at": model.steps.index(step)})
    new_step = _step_view(payload, key="lesson.step", triggers=("step",)).step
    if new_step in model.steps and new_step != step:  # messages from the browser are untrusted
        query_params.request_value("step", str(new_step))
        st.rerun()


def _draw_upload() -> None:
    """Draw the upload; a new image reruns the page, because the panel's fragment runs alone."""
    image_picker.draw_upload("lesson")
    if session_keys.get_control_values().get("image") != selection.get_current().image:
        st.rerun()


def _draw_next_button() -> None:
    name, _, index = selection.get_current().image.partition(":")
    if name not in catalogue.list_datasets():
        return
    if st.button("Next test image", icon=":material/skip_next:", key="lesson.picture"):
        selection.set_image(f"{name}:{(int(index) + 1) % cached.count_test_images(name)}")
        st.rerun()
