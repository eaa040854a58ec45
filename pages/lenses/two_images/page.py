"""Compare two images by the tokens that one model computes of them."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.two_images import activation_patching, match, pair_controls, segments, shared_colours
from pages.lenses.two_images.image_pair import build_pair
from pages.selection import selection, subject

VIEWS = {
    "match": ("Matches", match.draw),
    "colours": ("Colours", shared_colours.draw),
    "patching": ("Activation patching", activation_patching.draw),
    "uses": ("Applications", segments.draw),
}


@page.view
def draw() -> None:
    current = subject.load_current()
    key = "two_images.view"
    with st.container(gap="xxsmall"):
        draw_section = widgets.choose_section(key, VIEWS, gap="xxsmall")
        row = page.row()
        with row:
            same_class = st.session_state.get(key) != "patching"
            second, title = pair_controls.choose_second(current, same_class=same_class)
        draw_section(build_pair(current, selection.get_image_title(current.image), second, title), row)


page.header("two_images")
draw()
