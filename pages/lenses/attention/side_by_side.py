"""Two explorers side by side, of two models, steps or images, that share one pointer."""

from dataclasses import replace
from functools import partial

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.attention.captions import describe_similarity
from pages.lenses.attention.map_controls import MapControls, read_controls
from pages.lenses.attention.map_explorer import GROUP
from pages.selection import attention_maps, selection
from pages.selection.subject import CapturedSubject, capture_attention, load_subject
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.explorer import draw_explorer, send_options
from vitviz.models.abilities import abilities
from vitviz.models.token_layout import heads_by_layer
from vitviz.text import plain

KINDS = {"step": "another step", "model": "another model", "image": "another image"}
SINGLE_STEP = "This model has only one snapshot: choose another model or image."
EXAMPLES = 12  # images of each bundled dataset


def read_compared_subject(subject: CapturedSubject) -> CapturedSubject | None:
    """Draw the controls of the right side; return None, with the reason drawn, if there is nothing to compare."""
    with page.row():
        with st.container(width="content"):
            kind = widgets.segmented("attention.beside", "Compare with", KINDS)
        with st.container(width=230):
            return {"step": _read_step, "model": _read_model, "image": _read_image}[kind](subject)


def _load(choice: ModelChoice, step: int | None, image: str) -> CapturedSubject:
    return capture_attention(load_subject(choice, step, image))


def _read_step(subject: CapturedSubject) -> CapturedSubject | None:
    steps = subject.choice.steps
    if len(steps) == 1:
        st.info(SINGLE_STEP)
        return None
    step = widgets.select_slider(
        "attention.beside_step", "Step", steps, steps[0], format_func=lambda at: f"{at:,}"
    )
    return _load(subject.choice, step, subject.image)


def _read_model(subject: CapturedSubject) -> CapturedSubject:
    models = selection.list_models()
    titles = {
        key: choice.title
        for key, choice in models.items()
        if key != subject.choice.key and abilities(choice.config).attention
    }
    key = widgets.select("attention.beside_model", "Model", titles)
    return _load(models[key], None, subject.image)


def _read_image(subject: CapturedSubject) -> CapturedSubject:
    images = [f"sample:{name}" for name in catalogue.list_samples()]
    images += [f"{name}:{i}" for name in ("digits", "shapes") for i in range(EXAMPLES)]
    image = widgets.select(
        "attention.beside_image",
        "Image",
        [name for name in images if name != subject.image],
        format_func=format_image,
    )
    return _load(subject.choice, subject.step, image)


def format_image(image: str) -> str:
    """Return an image's title: 'Chelsea the cat', or 'Digits, test image no. 3'."""
    kind, _, name = image.partition(":")
    if kind in ("sample", "drawing", "upload"):
        return shared_cache.get_image_title(image)
    return f"{catalogue.get_dataset_title(kind)}, test image no. {name}"


def _draw_side(subject: CapturedSubject, name: str, controls: MapControls) -> None:
    """Draw one explorer; a model with fewer layers or heads shows its last."""
    heads, selected = heads_by_layer(subject.model.config), controls.map_selection
    layer = min(selected.layer, len(heads))
    head = min(selected.head, heads[layer - 1]) if isinstance(selected.head, int) else selected.head
    step = f" · step {subject.step:,}" if subject.model.trained_on else ""
    st.markdown(f"**{plain(subject.model.title)}**{step}")
    page.untrained_note(subject.model.trained_on)
    key = f"attention.{name}"
    map_selection = replace(selected, layer=layer, head=head)
    background = subject.ground(controls.background.seen)
    captured = capture_attention(subject, layer)
    message, strip = attention_maps.build_view(captured, map_selection, background, GROUP)
    on_change = partial(selection.apply_click, key, layer="attention.layer", head="attention.head")
    draw_explorer(message, strip, key=key, on_change=on_change)


def draw(subject: CapturedSubject) -> None:
    controls = read_controls(subject)
    send_options(GROUP, str(selection.get_current().pin), controls.options)
    compared = read_compared_subject(subject)
    if compared is None:
        return
    left, right = st.columns(2, gap="medium")
    with left:
        _draw_side(subject, "left", controls)
    with right:
        _draw_side(compared, "right", controls)
    text = describe_similarity(subject, compared, controls.map_selection.layer)
    if text is not None:
        page.caption(text)
