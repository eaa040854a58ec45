"""Show a second model's map below the first, for the same image."""

import streamlit as st

from pages.controls import query_params, widgets
from pages.frame import page
from pages.selection import selection, substitutes
from pages.selection.selection import Selection
from pages.start.map_session import MapFrame
from pages.stores import catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.plots.blob import open_blob
from vitviz.text import plain

VIEW = "home.map2"
MODEL, PART = "home.beside", "home.beside_part"  # the second model's key ('': none) and its open part
NONE = ""


@st.fragment
def draw() -> None:
    """Draw the choice of a second model and its map; opening a part reruns only this fragment."""
    second = _choose_model()
    if second is None:
        for key in (MODEL, PART):
            query_params.remove_value(key)
        return
    image, note = substitutes.choose_image(second)
    current = selection.get_current()
    second_selection = Selection(second.key, second.last_step, image, current.pin, current.crop)
    if note:
        st.markdown(f":gray[{note}]")
    message = MapFrame(
        VIEW,
        PART,
        "home.beside_asked",
        second,
        second_selection,
        {"model": second.key, "step": str(second.last_step), "image": image},
    ).draw()
    page.caption(plain(str(open_blob(message)[0]["caption"])))


def _choose_model() -> ModelChoice | None:
    others = {
        key: choice for key, choice in selection.list_models().items() if key != selection.get_current().model
    }
    with page.row(), st.container(width=360):
        key = widgets.select(
            MODEL,
            "Compare with another model",
            [NONE, *catalogue.sort_models(others.values())],
            NONE,
            format_func=lambda key: catalogue.label_model(others[key]) if key else "none",
            help="Shows a second map below, for the same image and token.",
        )
    return others.get(key)
