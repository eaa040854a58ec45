"""Send the addresses of other steps' weights while the sidebar's slider is dragged."""

import streamlit as st

from pages.selection import model_weights
from pages.stores.model_choice import ModelChoice
from pages.views.event_values import read_events, read_index
from pages.views.register import get_messages, register
from vitviz.plots.blob import pack

_view = register(__file__, "step_weights")
KEY = "_step_weights"


@st.fragment
def draw(choice: ModelChoice, step: int) -> None:
    """Draw nothing; a request of the browser reruns only this fragment."""
    requested = read_index(read_events(KEY).get("weights"))
    reply = requested in choice.steps and requested != step
    weights = {step: model_weights.publish(choice, step)}
    if reply and requested is not None:
        weights[requested] = model_weights.publish(choice, requested)
    header = {"model": choice.key, "steps": choice.steps, "weights": weights, "reply": reply}
    _view(pack(header), key=KEY, triggers=("weights",))
    get_messages().pop(KEY, None)
