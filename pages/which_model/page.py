"""Compare models: cost and accuracy of all models, published results, cost over tokens, and a guide."""

from dataclasses import dataclass

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


@dataclass(frozen=True)
class PageControls(widgets.ControlValues, page="which_model"):
    view: str


page.header("which_model")
widgets.keep_pending(
    scoreboard.BoardControls, paper_tables.TableControls, token_cost.CostControls, token_cost.GrowthPrediction
)
st.fragment(lambda: widgets.choose_section(PageControls.key("view"), VIEWS)())()
