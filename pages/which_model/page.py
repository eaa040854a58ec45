"""Compare models: cost and accuracy of all models, published results, cost over tokens, and a guide."""

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.which_model import guide, paper_tables, scoreboard, token_cost

VIEWS = {
    "board": ("Scoreboard", scoreboard.draw),
    "papers": ("Published results", paper_tables.draw),
    "length": ("Cost over tokens", token_cost.draw),
    "guide": ("CNN or ViT?", guide.draw),
}


page.header("which_model")
st.fragment(lambda: widgets.choose_section("which_model.view", VIEWS)())()
