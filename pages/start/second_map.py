"""A second model's map below the first: the lecture's two figures, one above the other, on one picture."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import query_params, widgets
from pages.frame import page
from pages.selection import model_list, selection, substitute
from pages.selection.selection import Nouns
from pages.start.map_session import OneMap
from pages.stores.model_choice import ModelChoice
from vitviz.plots.blob import opened
from vitviz.text import plain

VIEW = "home.map2"
NONE = ""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="home"):
    """The second model's key ('': none), which of its parts is open, and what the view asked of it."""

    beside: str
    beside_part: str
    beside_asked: str


@st.fragment
def draw() -> None:
    """The choice of a second model, and its map; an opened part of it runs this alone."""
    second = _choose()
    if second is None:
        for name in ("beside", "beside_part"):
            query_params.drop(Choice.key(name))
        return
    image, said = substitute.picture(second)
    now = selection.current()
    as_it_reads = Nouns(second.key, second.last_step, image, now.pin, now.crop)
    if said:
        st.markdown(f":gray[{said}]")
    message = OneMap(
        VIEW,
        Choice.key("beside_part"),
        Choice.key("beside_asked"),
        second,
        as_it_reads,
        {"model": second.key, "step": str(second.last_step), "image": image},
    ).draw()
    page.caption(plain(str(opened(message)[0]["caption"])))


def _choose() -> ModelChoice | None:
    """Draws the control; None where there is no second model."""
    others = {key: choice for key, choice in selection.models().items() if key != selection.current().model}
    with page.row(), st.container(width=360):
        key = widgets.select(
            Choice.key("beside"),
            "Beside it, another model",
            [NONE, *model_list.ordered(others.values())],
            NONE,
            format_func=lambda key: model_list.label(others[key]) if key else "none",
            help="Its map stands below this one: the same picture where it learned from such ones, the same token.",
        )
    return others.get(key)
