"""Interactive attention maps of one token: hovering selects the query in the browser, a click pins it."""

from dataclasses import asdict
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import query_params
from pages.frame import page
from pages.lenses.attention import export
from pages.lenses.attention.captions import describe_training
from pages.lenses.attention.map_controls import MapControls, read_controls
from pages.selection import attention_maps, selection
from pages.selection.subject import CapturedSubject, capture_attention
from pages.stores import catalogue
from pages.views.explorer import draw_explorer_stage, read_picks, send_options, send_strip
from pages.views.figures import draw_bars
from pages.views.register import get_messages
from vitviz.lessons import lesson, model_measures
from vitviz.models import layers, swin
from vitviz.text import plain

KEY = "attention.explorer"
GROUP = "attention"
MOST_CLASSES = 5  # of the prediction
DRAWERS = "attention.look"
STAGE = f"{KEY}.stage"  # fragment: the part of the view that a pin changes


def _apply_stage_pick() -> None:
    """Rerun the stage, the thumbnail and the open drawers after a pin, and the view after a change of layer or head."""
    events = read_picks(KEY)
    if "pin" in events:
        selection.set_pin(events["pin"])
    if controls := [name for name in ("layer", "head") if name in events]:
        # Streamlit runs this callback twice: a control that is set here would not move in the browser.
        for name in controls:
            query_params.request_value(f"attention.{name}", str(events[name]))
        st.rerun(selection.VIEW)
    st.rerun([STAGE, selection.THUMBNAIL, *page.list_open_drawers(DRAWERS)])


def draw(subject: CapturedSubject) -> None:
    controls = read_controls(subject)
    subject = capture_attention(subject, controls.map_selection.layer)
    send_options(GROUP, str(selection.get_current().pin), controls.options)
    background = subject.ground(controls.background.seen)
    message, strip = attention_maps.build_view(subject, controls.map_selection, background, GROUP)
    stage_slot = st.container(gap=None)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        draw_prediction(subject)
    with right:
        st.markdown("**See also**")
        links_slot = st.container()
    with stage_slot:
        send_strip(strip, key=KEY)
        draw_pinned(subject, controls, message, links_slot)
    page.drawers(
        DRAWERS,
        math=page.read_math(__file__),
        code=(swin.WindowAttention.forward if subject.able.windows else layers.Attention.forward,),
        # The drawer reads the pin when it is drawn.
        numbers=lambda: export.draw(subject, export.ExportedView.capture(subject, controls)),
        ask=lesson.Question(
            "Which patch does [CLS] attend to most in the last layer, averaged over heads? Pin it.",
            model_measures.MostAttendedPatch(),
        ),
    )


@st.fragment(key=STAGE)
def draw_pinned(
    subject: CapturedSubject, controls: MapControls, message: bytes, links_slot: DeltaGenerator
) -> None:
    """Draw what depends on the pin: the stage, its caption, and the links in their slot.

    benchmarks/message_bytes.md counts the bytes that a pin sends again.
    """
    draw_explorer_stage(message, key=KEY, on_change=_apply_stage_pick)
    pin, ground = selection.get_current().pin, subject.ground(controls.background.seen)
    options = asdict(controls.options) | {"pin": str(pin)}
    get_messages()[KEY] = partial(
        attention_maps.build_live_view, subject, controls.map_selection, ground, options
    )
    get_messages().pop(f"{KEY}.strip", None)
    smoothed = " Drawn smoothly; each patch has one weight." if controls.background.smooth else ""
    page.caption(
        attention_maps.describe_attention(subject, controls.map_selection, selection.get_current().pin)
        + smoothed
    )
    with links_slot:
        draw_links(controls)


def draw_links(controls: MapControls) -> None:
    """Draw links to other pages with the same token, layer and head."""
    layer, head = controls.map_selection.layer, controls.map_selection.head
    block_params = {"block.layer": layer} | ({"block.head": head} if isinstance(head, int) else {})
    selection.link_to("block", "Follow this token through the block", icon=None, **block_params)
    selection.link_to("attention_distance", "Compare the attention distance of all heads")
    selection.link_to("swin", "Learn how Swin's windows work")


def draw_prediction(subject: CapturedSubject) -> None:
    st.markdown("**Prediction**")
    output = getattr(subject.model.config, "class_output", "softmax")
    if output == "raw":
        for name, value in list(zip(subject.model.classes, subject.logits, strict=True))[:MOST_CLASSES]:
            st.markdown(f"{plain(name)}: {value:.4g}")
        page.caption(f"Value of the regression. {subject.able.class_head.why_not}")
        return
    if not subject.able.class_head:
        page.caption(subject.able.class_head.why_not)
        return
    probabilities = subject.probabilities
    top = np.argsort(-probabilities, kind="stable")[:MOST_CLASSES]
    draw_bars([subject.classes[i] for i in top], probabilities[top], key="attention.predictions")
    if output == "sigmoid":
        above = [plain(subject.classes[i]) for i in np.flatnonzero(probabilities > 0.5)]
        page.caption(
            "Every class has a probability of its own (a sigmoid); they share no total of 100 %."
            f" Above 50 %: {', '.join(above) or 'none'}."
        )
    page.caption(describe_training(subject, catalogue.is_random(subject.choice, subject.step)))
