"""Draws the nouns: for each what is chosen, as a small picture, and the one control that changes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.selection import image_picker, model_dialog, model_list, run_follower, selection, thumbnails
from pages.selection.image_picker import GONE as GONE
from pages.stores import cached, catalogue, own_weights, published, runs, session, uploads, user_datasets
from pages.stores.model_choice import ModelChoice
from pages.streamlit_fixes import element_cache
from vitviz.number_text import parse_float
from vitviz.pin import Pin
from vitviz.plots.theme import Mode

_NAME = re.compile(r"[a-z0-9_]{1,64}")
_MODEL_PX = 72
_CURVE_PX = 256
_CURVE_HEIGHT_PX = 41  # as the sidebar's width scales it
GONE_MODEL = "Those weights are gone: an upload lives as long as its visit. Here is another model."
GONE_RUN = "That run is gone: it was removed, or this server keeps it no longer. Here is another model."
EMPTY_RUN = "That run has nothing to show as yet. Here is another model."
GONE_SHIPPED = "That model is not on this server. Here is another one."


def draw(slug: str) -> None:
    """Model, step, image, from top to bottom; settles what they are in this run of the page at an address."""
    st.session_state[session_keys.PAGE] = slug
    st.html(f"<style>{_style()}</style>")
    here = session.arrive()
    uploads.stay(here)
    user_datasets.stay(here)
    _join(here)
    model, step = _model()
    image = image_picker.settled(model)
    pin = _settled("pin", Pin.parse)
    crop = _settled_crop()
    chosen = selection.settle(model.key, step, image, pin if isinstance(pin, Pin) else Pin(), crop)
    image_picker.draw(model, chosen)
    model_dialog.draw(model.key)


@cache
def _style() -> str:
    return Path(__file__).with_name("sidebar.css").read_text("utf-8")


def _join(here: session.Visit) -> None:
    """A run, or weights, that the link names join the visit that opened it."""
    said = st.session_state.get(session_keys.INCOMING, {}).get("model", "")
    kind, _, name = said.partition(":")
    if kind == "run":
        runs.adopt(here, name)
    elif kind == "weights":
        own_weights.adopt(here, name)


def _settled(key: str, parse: Callable[[str], object | None]) -> object | None:
    """What the link newly says about a key if it can be read, else what is kept."""
    said = query_params.take(key)
    parsed = None if said is None else parse(said)
    if parsed is not None:
        session_keys.kept()[key] = parsed
    return session_keys.kept().get(key)


def _settled_crop() -> float:
    def parse(text: str) -> float | None:
        value = parse_float(text)
        return value if value is not None and 0 <= value <= 1 else None

    crop = _settled("crop", parse)
    return crop if isinstance(crop, float) else 0.5


# ---------------------------------------------------------------- model and step


def _model() -> tuple[ModelChoice, int]:
    choices = selection.models_now()
    key = _settled_model(choices)
    choice = choices[key]
    # Drawn once the step is known, which stands below it.
    place = st.container(horizontal=True, vertical_alignment="center", gap="small")
    step = _step(choice)
    small = _model_picture(cached.identity(choice, step), choice, step, selection.mode())
    said = small, choice.title, catalogue.is_random(choice, step), _note(choice, step)
    element_cache.draw(place, _say_model, *said, own=catalogue.is_own(choice))
    model_dialog.button()
    return choice, step


def _say_model(small: str, title: str, random: bool, note: str) -> None:
    """The model in small, and beside it what it is."""
    with st.container(width=_MODEL_PX, height=_MODEL_PX, border=False, key="nouns-model-picture"):
        st.image(small, alt=f"{title}, in small", width=_MODEL_PX)
    with st.container(gap="xxsmall"):
        if random:
            st.badge("random weights", icon=":material/casino:", color="orange")
        st.caption(note)


def _settled_model(choices: Mapping[str, ModelChoice]) -> str:
    """The key of the model; notes whether the visitor chose it, and says where the one that they want is gone."""
    said, before = (
        st.session_state.get(session_keys.INCOMING, {}).get("model"),
        session_keys.kept().get("model"),
    )
    picked = st.session_state.get("model", before)
    key: str = widgets.select(
        "model",
        "Model",
        model_list.ordered(choices.values()),
        catalogue.default_model(),
        format_func=lambda name: model_list.label(choices[name]),
    )
    if key == said or (key == picked != before):
        st.session_state[session_keys.BY_HAND] = True
    # What the link says, else what was shown: either may have gone since.
    if why := _why_gone(before if said is None else said, choices):
        st.session_state[session_keys.LOST] = (key, why)
        st.session_state[session_keys.BY_HAND] = False
    shown, why = st.session_state.get(session_keys.LOST, (key, ""))
    if shown != key:
        st.session_state.pop(session_keys.LOST)
    elif why:
        st.warning(why, icon=":material/info:")
    return key


def _why_gone(key: object, choices: Mapping[str, ModelChoice]) -> str:
    """The sentence for a key that a link of this project may hold and that names no model here; else none."""
    from vitviz.models.pretrained_list import PRETRAINED
    from vitviz.models.size import too_large

    if not isinstance(key, str) or key in choices:
        return ""
    kind, _, name = key.partition(":")
    if kind == "run" and runs.is_id(name):
        return GONE_RUN if runs.find(name) is None else EMPTY_RUN
    if own_weights.gone(key):
        return GONE_MODEL
    if key.startswith(published.KEY) and name in PRETRAINED:
        entry = PRETRAINED[name]
        if too_large(entry.config):
            return f"{entry.title} is larger than what this app shows. Here is another model."
        return f"{entry.title} is not on this server: 'More models' fetches it. Here is another model."
    return GONE_SHIPPED if kind in ("checkpoint", "preset") and _NAME.fullmatch(name) else ""


def _note(model: ModelChoice, step: int) -> str:
    """What the model is at this step: how well it does is known of the last one."""
    last = model.steps[-1]
    if step == last or model.trained_on is None:
        return model.note
    if step == 0:
        return f"Before its training on {catalogue.data_title(model.trained_on)}."
    return f"Step {step:,} of {last:,} of its training on {catalogue.data_title(model.trained_on)}."


@cached.shared(most=256)
def _model_picture(identity: str, _choice: ModelChoice, step: int, mode: Mode) -> str:
    filters = catalogue.filters(_choice, step)
    if filters is not None:
        drawn = thumbnails.filters_picture(filters, side_px=_MODEL_PX)
    else:
        drawn = thumbnails.shape_picture(_choice.config, mode, side_px=_MODEL_PX)
    return thumbnails.encoded(drawn)


@cached.shared(most=256)
def _curve_picture(
    curve: tuple[tuple[int, float], ...], steps: tuple[int, ...], step: int, mode: Mode
) -> str:
    return thumbnails.encoded(thumbnails.curve_picture(curve, steps, step, mode, _CURVE_PX))


def _step(model: ModelChoice) -> int:
    steps = model.steps
    if len(steps) == 1:
        session_keys.kept()["step"] = steps[0]
        query_params.take("step")
        run_follower.draw(model)
        return steps[0]
    followed = run_follower.follows(model)
    step = widgets.select_slider(
        "step",
        "Step",
        steps,
        steps[-1],
        format_func=lambda at: f"{at:,}",
        help="The moment in its training: the newest while it is followed."
        if followed
        else "The moment in its training.",
        disabled=followed,
    )
    place = st.container(height=_CURVE_HEIGHT_PX, border=False, key="nouns-curve")
    drawn = _curve_picture(model.curve, steps, step, selection.mode())
    element_cache.draw(place, _show_curve, drawn, step, steps[-1], own=catalogue.is_own(model))
    run_follower.draw(model)
    return step


def _show_curve(drawn: str, step: int, last: int) -> None:
    st.image(drawn, alt=f"Step {step:,} of {last:,} on the training curve", width="stretch")
