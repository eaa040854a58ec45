"""Apply what the user draws on the map's pad, and select the other images that the map offers."""

import streamlit as st

from pages.controls import session_keys
from pages.selection import image_picker, model_suggestion, selection
from pages.start.map_session import DRAWING
from pages.stores import catalogue
from pages.views.event_values import read_events
from vitviz.data.datasets import default_pictures, first_number
from vitviz.data.drawings import FIRST, is_drawing

PHOTO = "sample:cat"


def apply_events(view: str) -> None:
    """Apply the events of the view with this key in the current run; they come from a browser and may be invalid."""
    events = read_events(view)
    strokes = events.get("draw")
    if isinstance(strokes, str) and is_drawing(strokes):
        _select_drawing(strokes)
    if events.get("rest") and strokes is None:
        st.rerun()  # the pen rests: the sidebar and every link on the page show the drawing
    show = {"drawing": _show_drawing, "photo": _show_photo, "test": _show_test_image, "upload": _upload}
    if (shown := str(events.get("show"))) in show:
        show[shown]()


def _select_drawing(strokes: str) -> None:
    """Select the drawing for this run and the next ones; the model that reads it becomes the user's choice.

    The link follows when the pen rests: an address at every stroke costs the browser as much as the map.
    """
    image = f"{DRAWING}{strokes}"
    if selection.is_default_model():
        selection.set_model(selection.get_current().model, selection.get_current().step)
    session_keys.get_control_values().update(image=image, crop=selection.Selection.crop)
    selection.override_image(image)


def _show_drawing() -> None:
    if not selection.get_model_choice().preparation.digit:
        selection.set_model(catalogue.get_default_model("home"))
    _show_image(f"{DRAWING}{FIRST}")


def _show_photo() -> None:
    if selection.get_model_choice().preparation.digit:
        st.session_state[session_keys.MODEL_CHOSEN] = False
    model_suggestion.suggest_for_image(PHOTO)
    _show_image(PHOTO)


def _show_test_image() -> None:
    choice = selection.get_model_choice()
    name = default_pictures(choice.trained_on, choice.preparation.in_chans)
    _show_image(f"{name}:{first_number(name)}")


def _show_image(image: str) -> None:
    """Select another image and run the page again, unless it is shown."""
    if selection.get_current().image != image:
        selection.set_image(image)
        st.rerun()


@st.dialog("Upload an image")
def _upload() -> None:
    image_picker.draw_upload("home")
    if session_keys.get_control_values().get("image", "") not in ("", selection.get_current().image):
        st.rerun()
