"""Compare models: cost and accuracy of all models, published results, and a guide."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.which_model import guide, scoreboard

VIEWS = {
    "board": ("Scoreboard", scoreboard.draw),
    "papers": ("Published results", guide.draw_papers),
    "guide": ("CNN or ViT?", guide.draw_guide),
}


page.header("which_model")
st.fragment(lambda: widgets.choose_section("which_model.view", VIEWS)())()
