"""Interactive attention maps of one token: hovering selects the query in the browser, a click pins it."""

import re
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from streamlit.delta_generator import DeltaGenerator

from pages.controls import query_params
from pages.frame import image_sets, page
from pages.lenses.attention import export
from pages.lenses.attention.captions import describe_effective_tokens, describe_training
from pages.lenses.attention.map_controls import MapControls, read_controls
from pages.selection import attention_maps, model_weights, pinned_token_captions, selection
from pages.selection.subject import CapturedSubject, capture_attention
from pages.stores import catalogue
from pages.views.event_values import read_events
from pages.views.explorer import draw_explorer_stage, read_picks, send_options, send_strip
from pages.views.figures import draw_bars
from pages.views.register import get_messages, register
from vitviz.analysis.image_means import ImageMeans
from vitviz.lessons import lesson, model_measures
from vitviz.models import layers, swin, token_layout
from vitviz.models.abilities import as_swin
from vitviz.plots.attention_images import attention_image, png, sheet
from vitviz.plots.attention_message import Head, encode_layer
from vitviz.plots.blob import pack
from vitviz.probe.explorer_layers import capture_pool, describe_scene
from vitviz.text import parse_int, percent, plain, plural

_live = register(__file__, "map_live")
_RECORD = re.compile(r"blocks\.([0-9]{1,3})\.attn")
KEY = "attention.explorer"
GROUP = "attention"
MOST_CLASSES = 5  # of the prediction
DRAWERS = "attention.look"
BARS = "attention.predictions"
LIVE = "attention.live"
POOL_PX = 160
STAGE = f"{KEY}.stage"  # fragment: the part of the view that a pin changes
_QUESTION = lesson.Question(
    "Which patch does [CLS] attend to most in the last layer, averaged over heads? Pin it.",
    model_measures.MostAttendedPatch(),
)


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
    message, strip = attention_maps.build_view(subject, controls.map_selection, background, GROUP, BARS)
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
        image_sets.draw("effective_tokens", subject.model, partial(_describe_set, subject, controls))
    if getattr(subject.model.config, "readout", "") == "map":
        draw_pool(subject, controls)
    draw_live(subject, controls)
    page.drawers(
        DRAWERS,
        math=page.read_math(__file__),
        code=(swin.WindowAttention.forward if subject.able.windows else layers.Attention.forward,),
        # These drawers read the pin when they are drawn.
        call=partial(write_call, subject, controls),
        numbers=lambda: export.draw(subject, export.ExportedView.capture(subject, controls)),
        ask=_QUESTION,
    )


def write_call(subject: CapturedSubject, controls: MapControls) -> str:
    layout = attention_maps.get_layer_layout(subject, controls.map_selection.layer)
    return controls.map_selection.write_call(selection.get_current().pin.token(layout))


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
    for stored in (
        f"{KEY}.strip",
        f"{GROUP}.options",
        *([BARS] if attention_maps.can_run(subject) else ()),
    ):
        get_messages().pop(stored, None)  # the file's explorer has its own
    smoothed = " Drawn smoothly; each patch has one weight." if controls.background.smooth else ""
    page.caption(
        pinned_token_captions.describe_attention(subject, controls.map_selection, selection.get_current().pin)
        + smoothed
    )
    with links_slot:
        draw_links(controls)


def _describe_set(subject: CapturedSubject, controls: MapControls, means: ImageMeans) -> str:
    shown = controls.map_selection
    tokens = attention_maps.get_layer_layout(subject, shown.layer).num_tokens
    if subject.able.windows:
        tokens = as_swin(subject.model.config).window_size ** 2
    return describe_effective_tokens(means, shown.layer, shown.head, tokens)


def draw_pool(subject: CapturedSubject, controls: MapControls) -> None:
    """Draw the attention of attention pooling's query, from whose sum of tokens classes and features are read."""
    st.markdown("**Attention pooling: from its learned query**")
    weights = capture_pool(subject.model, subject.layout, subject.prepared.input)
    patches = weights[:, subject.layout.num_prefix_tokens :]
    photo, grid = subject.ground(controls.background.seen), subject.layout.grid
    style = export.ExportedView.capture(subject, controls).style
    tiles = [attention_image(photo.pixels, head, grid, style, size_px=POOL_PX) for head in patches]
    labels = [f"head {number}" for number in range(1, len(tiles) + 1)]
    alt = f"Attention of the pooling query in {plural(len(tiles), 'head')}"
    st.image(png(sheet(tiles, labels, min(8, len(tiles)), style.mode)), alt=alt)
    mean = patches.mean(axis=0)
    row, col = divmod(int(mean.argmax()), grid[1])
    read = weights.shape[1] if subject.model.vit.config.pool_prefix else mean.size
    page.caption(
        "After the last layer, a learned query attends to the patches; the model's output is read from their weighted"
        f" sum. On the mean of {plural(len(tiles), 'head')}, the patch in row {row + 1}, column {col + 1} has the"
        f" largest weight: {percent(float(mean.max()))} (uniform: {percent(1 / read)})."
    )


@st.fragment
def draw_live(subject: CapturedSubject, controls: MapControls) -> None:
    """Send what the maps need to follow a dragged slider: the model's weights and input, or one layer as requested."""
    choice, selected = subject.choice, controls.map_selection
    weights = model_weights.publish(choice, subject.step) if subject.able.blocks else ""
    header = {
        "group": GROUP,
        "model": choice.key,
        "image": f"{subject.image} {subject.offset}",
        "layer": selected.layer,
        "head": selected.head,
        "step": subject.step,
        "steps": choice.steps,
        "weights": weights,
        "classes": {"key": BARS, "count": MOST_CLASSES} if subject.able.class_head else None,
    }
    kind, _, number = str(read_events(LIVE).get("record") or "").partition(" ")
    reply, arrays = _answer_request(subject, selected.head, kind, number)
    _live(pack(header | reply, input=subject.prepared.input, **arrays), key=LIVE, triggers=("record",))
    get_messages().pop(LIVE, None)  # a downloaded page has the weights of all layers


def _answer_request(
    subject: CapturedSubject, head: Head, kind: str, number: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the weights' address of 'step NUMBER', or one layer's attention by its name in records."""
    if kind == "step":
        step = parse_int(number)
        if step not in subject.choice.steps:
            return {}, {}
        weights = model_weights.publish(subject.choice, step)
        return {"reply": {"name": f"step {step}", "weights": weights}}, {}
    match = _RECORD.fullmatch(kind)
    layer = int(match[1]) + 1 if match else 0
    if not 1 <= layer <= len(token_layout.heads_by_layer(subject.model.config)):
        return {}, {}
    subject = capture_attention(subject, layer)
    scene = describe_scene(subject.model, subject.layout, layer, head, GROUP)
    rows = subject.windows[layer - 1][1] if subject.able.windows else subject.attention_of(layer)
    described, arrays = encode_layer(scene, rows)
    return {"reply": {"name": kind, "scene": described}}, arrays


def draw_links(controls: MapControls) -> None:
    """Draw links to other pages with the same token, layer and head."""
    layer, head = controls.map_selection.layer, controls.map_selection.head
    block_params = {"block.layer": layer} | ({"block.head": head} if isinstance(head, int) else {})
    selection.link_to("block", "Follow this token through the block", icon=None, **block_params)
    selection.link_to("attention_distance", "Compare the attention distance of all heads")
    selection.link_to("studies", "What is [CLS] for?", **{"studies.study": "three_readouts"})
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
    draw_bars([subject.classes[i] for i in top], probabilities[top], key=BARS)
    if output == "sigmoid":
        above = [plain(subject.classes[i]) for i in np.flatnonzero(probabilities > 0.5)]
        several = "every class has a probability of its own (a sigmoid); they share no total of 100 %."
        page.caption(
            f"Above 50 %: {', '.join(above) or 'none'};"
            f" {several if len(probabilities) > 1 else 'the probability of one label (a sigmoid).'}"
        )
    page.caption(describe_training(subject, catalogue.is_random(subject.choice, subject.step)))
