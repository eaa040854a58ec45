"""Draw the sidebar and resolve its selection: model, step and image."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import popover, query_params, session_keys, widgets
from pages.selection import image_picker, model_dialog, page_selection, selection, substitutes, thumbnails
from pages.selection.image_picker import IMAGE_EXPIRED as IMAGE_EXPIRED
from pages.stores import (
    catalogue,
    own_weights,
    parameter_history,
    published_weights,
    recorded_runs,
    registry,
    runs,
    session,
    shared_cache,
    uploads,
    user_datasets,
)
from pages.stores.model_choice import ModelChoice
from pages.stores.registry import PageEntry
from pages.streamlit_fixes import installation
from pages.streamlit_fixes.optional import element_cache, unchanged_parts
from vitviz.pin import Pin
from vitviz.plots.theme import Mode
from vitviz.text import parse_float, parse_int, plain, plural
from vitviz.upload_limits import WEIGHTS_PER_USER

_NAME = re.compile(r"[a-z0-9_]{1,64}")
_MODEL_PX = 72
# Pages that compare models of one input, or train on a dataset's images.
_CROPPED = ("live_lab", "fine_tuning", "on_your_picture", "distillation", "which_model")
_CARD_POLL_S = 3.0  # while the lab's run trains
_CURVE_PX = 256
_CURVE_HEIGHT_PX = 41  # scaled to the sidebar's width
WEIGHTS_EXPIRED = (
    f"These weights have expired: an upload is deleted when its session ends or after {WEIGHTS_PER_USER} newer ones."
    " Another model is shown."
)
RECORDING_EXPIRED = "This recorded run has expired: upload it again. Another model is shown."
RUN_DELETED = "This run was deleted or has expired. Another model is shown."
RUN_EMPTY = "This run has no snapshot yet. Another model is shown."
CHECKPOINT_MISSING = "This model is not on this server. Another model is shown."
_WHERE_TO_CONFIRM = "Confirm or change it under 'Add a model'."
_NO_SIDEBAR = '[data-testid="stSidebar"] { display: none; }'
_FOLLOW_POLL_S = 1.5
_FOLLOW_KEY, _FOLLOWED_RUN = "nouns.follow", "nouns._followed"
_LINKED = ("model", "step", "image", "pin", "crop", "whole", page_selection.OWN_IMAGE)
_READ = (  # session keys that the sidebar reads
    session_keys.LESSON,
    session_keys.MODEL_CHOSEN,
    session_keys.STEP_MODEL,
    session_keys.PREVIOUS_MODEL,
    session_keys.LANDED,
    session_keys.MISSING_MODEL,
    session_keys.NOTICE,
    "nouns._upload_notice",
    model_dialog.WAITING,
    "nouns.shown_image",
    "nouns.source",
    "nouns.sample",
    "nouns.dataset",
)


def draw(slug: str) -> None:
    """Resolve the selection for the page at an address, and draw the model, step and image that the page shows."""
    st.session_state[session_keys.PAGE] = slug
    user = session.open_session()
    uploads.mark_active(user)
    user_datasets.mark_active(user)
    _adopt_linked_model(user)
    entry = registry.BY_SLUG.get(slug, registry.PAGES[0])
    choices = selection.refresh_models()
    has_selection = entry.sidebar and not page_selection.find_lab_recording(slug)
    # Streamlit keeps the sidebar of the page before, empty, until the next event.
    st.html(f"<style>{_read_style() if has_selection else _NO_SIDEBAR}</style>")
    if not has_selection:
        with popover.discard():
            _draw_selection(entry, choices)
        return
    shown, link = unchanged_parts.draw_unless_unchanged(
        "nouns._sidebar",
        st.sidebar,
        lambda: _read_state(entry, user, choices),
        lambda: _draw_sidebar(entry, choices),
    )
    st.session_state[session_keys.SELECTION] = shown
    session_keys.get_dict(session_keys.OUTGOING).update(link)


def _read_state(
    entry: PageEntry, user: session.UserSession, choices: Mapping[str, ModelChoice]
) -> tuple[object, ...] | None:
    """Return all that the sidebar depends on beside its own widgets; None where it follows a job or a dialog."""
    values, view = session_keys.get_control_values(), page_selection.get_view_key(entry)
    if _follows_job(entry, str(values.get("model"))):
        return None
    pending = _list_pending()
    image = str(values.get("image", ""))
    return (
        entry.slug,
        selection.get_theme(),
        tuple(choices.values()),
        tuple(catalogue.list_datasets()),
        not image or image_picker.image_exists(image),
        user.uploads,
        published_weights.list_downloads(),
        [(key, values.get(key), pending.get(key)) for key in (*_LINKED, view)],
        [st.session_state.get(key) for key in (*_READ, view)],
        _read_step(),
    )


def _read_step() -> list[object]:
    """Return what the slider of steps depends on beside the model."""
    read = [st.session_state.get(key) for key in ("step", session_keys.DROPPED_STEP)]
    kept = [
        session_keys.get_dict(name).get("step") for name in (session_keys.LIMITS, session_keys.CONTROL_VALUES)
    ]
    unusable = repr(session_keys.get_dict(session_keys.UNUSABLE).get("step"))  # is changed in place
    return [*read, *kept, unusable, _list_pending().get("step")]


def _follows_job(entry: PageEntry, model: str) -> bool:
    """Return True if the sidebar shows a run, which may be training, or what the open dialog does."""
    is_open = bool(st.session_state.get(session_keys.MODEL_DIALOG))
    return is_open or entry.slug == "live_lab" or model.startswith("run:")


def _list_pending() -> dict[str, str]:
    """Return the values of the link, and of requests, that no control has taken yet."""
    return session_keys.get_dict(session_keys.REQUESTED) | session_keys.get_dict(session_keys.INCOMING)


def _draw_sidebar(
    entry: PageEntry, choices: Mapping[str, ModelChoice]
) -> tuple[selection.Selection, dict[str, str]]:
    """Draw the sidebar; return the selection that the page shows, and the values of the link."""
    _draw_selection(entry, choices)
    link = query_params.get_values()
    return selection.get_current(), {key: link[key] for key in _LINKED if key in link}


def _draw_selection(entry: PageEntry, choices: Mapping[str, ModelChoice]) -> None:
    selected = choices[_resolve_model(entry, choices)]
    _change_step_model(selected, choices)
    shown = page_selection.resolve_model(entry, selected, choices)
    model = choices[shown.value]
    step = _draw_unchanged_model(entry, model, choices, shown)
    if _resolve_value(page_selection.OWN_IMAGE, {"1": True, "0": False}.get):
        query_params.set_value(page_selection.OWN_IMAGE, "1")
    image = image_picker.resolve_image(selected, page_selection.resolve_default_image(entry, selected))
    page_selection.store_landing(entry, selected, image)
    grid = selection.get_patch_grid(model.config) or selection.get_patch_grid(selected.config)
    _resolve_value("pin", lambda text: Pin.parse(text, grid))
    selected_step = step if model is selected else _resolve_step(selected)
    whole = _resolve_whole(entry, selected)
    resolved = selection.resolve(selected.key, selected_step, image, _resolve_crop(), whole)
    substituted = model is not selected or entry.slug == "live_lab"  # a run shows images of its own dataset
    shown_image = page_selection.resolve_image(model, image, substituted)
    if model is not selected or shown_image.value != image:
        resolved = selection.substitute(resolved, model.key, step, shown_image.value)
    if session_keys.TAB not in st.session_state:
        st.session_state[session_keys.TAB] = uploads.open_tab()
    open_keys = (selected.key, image, resolved.model, resolved.image)
    st.session_state[session_keys.TAB].keys = frozenset(key.partition(":")[2] for key in open_keys)
    if popover.is_closed():
        return
    image_picker.draw(selection.get_model_choice(), resolved)
    if shown_image.reason:
        _draw_image_reason(shown_image.reason)
    model_dialog.draw(model, step)


def _change_step_model(selected: ModelChoice, choices: Mapping[str, ModelChoice]) -> None:
    """Let the step follow the selected model; one that the user moved is kept for its model alone."""
    values = session_keys.get_control_values()
    before = st.session_state.get(session_keys.STEP_MODEL)
    if before == selected.key:
        return
    st.session_state[session_keys.STEP_MODEL] = selected.key
    if before is None:
        return
    moved = session_keys.get_dict(session_keys.MOVED_STEPS)
    step = values.pop("step", None)
    st.session_state.pop("step", None)
    if before in choices and step is not None and step != choices[before].steps[-1]:
        moved[before] = step
    if selected.key in moved:
        widgets.set_control("step", moved.pop(selected.key))


def _resolve_step(model: ModelChoice) -> int:
    """Return the linked or stored step of a model whose slider is not drawn."""
    _replace_dropped_step(model)
    if len(model.steps) == 1:
        return _take_only_step(model)
    step = _resolve_value("step", parse_int)
    return step if isinstance(step, int) and step in model.steps else model.steps[-1]


def _replace_dropped_step(model: ModelChoice) -> None:
    """Request the nearest stored step, and say so, if a link names one that a model no longer holds."""
    linked = st.session_state.get(session_keys.INCOMING, {}).get("step")
    step = None if linked is None else parse_int(linked)
    if step is None or step in model.steps or model.key.startswith("run:"):
        return
    nearest = min(model.steps, key=lambda stored: abs(stored - step))
    query_params.take_value("step")
    query_params.request_value("step", str(nearest))
    sentence = f"Step {step:,} of this model is not stored. The nearest one, {nearest:,}, is shown."
    st.session_state[session_keys.DROPPED_STEP] = (model.key, nearest, sentence)


def _draw_dropped_step(model: ModelChoice, step: int) -> None:
    """Draw the note on a linked step until another model or step is shown."""
    key, nearest, sentence = st.session_state.get(session_keys.DROPPED_STEP, ("", 0, ""))
    if (key, nearest) == (model.key, step):
        st.caption(sentence)
    else:
        st.session_state.pop(session_keys.DROPPED_STEP, None)


def _draw_image_reason(reason: str) -> None:
    st.caption(f"{reason} Your image is not shown.")
    st.button(
        "Show your image",
        key="nouns.own_image",
        on_click=lambda: session_keys.get_control_values().update({page_selection.OWN_IMAGE: True}),
        width="stretch",
    )


@cache
def _read_style() -> str:
    return Path(__file__).with_name("sidebar.css").read_text("utf-8")


def _adopt_linked_model(user: session.UserSession) -> None:
    """Add the run or weights that the link names to the user's session."""
    linked = st.session_state.get(session_keys.INCOMING, {}).get("model", "")
    kind, _, name = linked.partition(":")
    if kind == "run":
        runs.adopt_run(user, name)
    elif kind == "weights":
        own_weights.adopt_weights(user, name)
    elif linked.startswith(recorded_runs.KEY):
        recorded_runs.adopt_run(user, linked)


def _resolve_value(key: str, parse: Callable[[str], object | None]) -> object | None:
    """Return the link's value of a key if it is valid, else the stored one."""
    linked = query_params.take_value(key)
    parsed = None if linked is None else parse(linked)
    if parsed is not None:
        session_keys.get_control_values()[key] = parsed
    return session_keys.get_control_values().get(key)


def _resolve_crop() -> float:
    def parse(text: str) -> float | None:
        offset = parse_float(text)
        return offset if offset is not None and 0 <= offset <= 1 else None

    crop = _resolve_value("crop", parse)
    return crop if isinstance(crop, float) else 0.5


def _resolve_whole(entry: PageEntry, model: ModelChoice) -> bool | None:
    """Return True if the model is shown the whole image; None where a page or a model does not do that."""
    value = _resolve_value("whole", {"1": True, "0": False}.get)
    if value:
        query_params.set_value("whole", "1")  # also on a page that does not use it
    if entry.slug in _CROPPED:
        return None
    return bool(value) and not image_picker.explain_crop(model)


# ---------------------------------------------------------------- model and step


def _draw_unchanged_model(
    entry: PageEntry, model: ModelChoice, choices: Mapping[str, ModelChoice], shown: page_selection.Shown
) -> int:
    """Draw the model's part of the sidebar, or send it again if only the image has changed; return the step."""
    if popover.is_closed():
        return _resolve_step(model)

    def read_state() -> tuple[object, ...] | None:
        if _follows_job(entry, model.key):
            return None
        return (
            entry.slug,
            selection.get_theme(),
            tuple(choices.values()),
            shown,
            _read_step(),
        )

    return unchanged_parts.draw_unless_unchanged(
        "nouns._model",
        st.sidebar,
        read_state,
        lambda: _draw_model(model, choices, shown, is_lab=entry.slug == "live_lab"),
    )


def _draw_model(
    model: ModelChoice, choices: Mapping[str, ModelChoice], shown: page_selection.Shown, is_lab: bool
) -> int:
    """Draw the model's name, card and step; return the step that the page shows. The lab's card follows its run."""
    _draw_model_list(model.key, choices, is_selected=not shown.reason)
    if shown.reason:
        st.caption(shown.reason)
        st.button(
            "Select this model",
            key="nouns.select_shown",
            on_click=substitutes.select_substitute,
            args=(model,),
            width="stretch",
        )
    if is_lab and shown.reason and is_training(model):
        st.fragment(_draw_newest_card, run_every=_CARD_POLL_S * runs.get_slowness())(model.key)
        step = model.steps[-1]
    else:
        # The card is drawn once the step below it is known.
        place = st.container(horizontal=True, vertical_alignment="center", gap="small")
        step = model.steps[-1] if shown.reason else _draw_step(model)
        _draw_card(place, model, step)
        _draw_dropped_step(model, step)
    model_dialog.draw_button()
    return step


def _draw_newest_card(key: str) -> None:
    """Draw the card of a run in training at its newest snapshot."""
    place = st.container(horizontal=True, vertical_alignment="center", gap="small")
    if (model := selection.refresh_models().get(key)) is not None:  # None if it was deleted
        _draw_card(place, model, model.steps[-1])


def _draw_card(place: DeltaGenerator, model: ModelChoice, step: int) -> None:
    thumbnail = _encode_model(shared_cache.identify_weights(model, step), model, step, selection.get_theme())
    card = (
        thumbnail,
        model.title,
        catalogue.is_random(model, step),
        _describe_step(model, step),
        model.assumptions,
    )
    element_cache.draw_cached(place, _draw_model_card, *card, private=catalogue.is_private(model))
    if installation.is_enabled():  # otherwise nothing of a collapsed sidebar is seen
        st.html(f'<div class="vv-strip">{escape(model.title)} · step {step:,}</div>')


def _draw_model_list(shown: str, choices: Mapping[str, ModelChoice], is_selected: bool) -> None:
    """Draw the list of models under the shown one's name; the one that is clicked becomes the user's selection.

    A substitute is only the list's placeholder, because a list does not report a click on its own value.
    """
    st.session_state["model"] = shown if is_selected else None
    name = catalogue.label_model(choices[shown])
    with st.container(key="nouns-model-list", gap=None):
        st.selectbox(
            "Model",
            catalogue.sort_models(choices.values()),
            index=0 if is_selected else None,
            placeholder=None if is_selected else name,
            key="model",
            format_func=lambda name: catalogue.label_model(choices[name]),
            on_change=_store_clicked_model,
        )
        st.html(f'<div class="vv-model-name" aria-hidden="true">{escape(name)}</div>')


def _store_clicked_model() -> None:
    if st.session_state["model"] is not None:
        session_keys.get_control_values()["model"] = st.session_state["model"]
        st.session_state[session_keys.MODEL_CHOSEN] = True


def _draw_model_card(
    thumbnail: str, title: str, random: bool, note: str, assumptions: tuple[str, ...]
) -> None:
    with st.container(width=_MODEL_PX, height=_MODEL_PX, border=False, key="nouns-model-picture"):
        st.image(thumbnail, alt=f"Thumbnail of {title}", width=_MODEL_PX)
    with st.container(gap="xxsmall"):
        if random:
            st.badge("random weights", icon=":material/casino:", color="violet")
        if assumptions:
            st.badge(
                plural(len(assumptions), "assumption"),
                icon=":material/help:",
                color="violet",
                help=plain("\n\n".join((*assumptions, _WHERE_TO_CONFIRM))),
            )
        st.caption(note)


def _resolve_model(entry: PageEntry, choices: Mapping[str, ModelChoice]) -> str:
    """Return the key of the user's model: linked, selected, or the page's default; draw why a linked one is missing."""
    values = session_keys.get_control_values()
    incoming = st.session_state.get(session_keys.INCOMING, {}).get("model")
    linked = query_params.take_value("model")
    before = values.get("model")
    if linked in choices:
        values["model"] = linked
        if linked == incoming:
            st.session_state[session_keys.MODEL_CHOSEN] = True
    # The linked model, else the previous one: either may have been deleted.
    why = _explain_missing(before if linked is None else linked, choices)
    default = page_selection.find_default_model(entry, choices)
    if values.get("model") not in choices:
        values["model"] = default
    key: str = values["model"]
    if why:
        st.session_state[session_keys.MISSING_MODEL] = (key, why)
        st.session_state[session_keys.MODEL_CHOSEN] = False
        query_params.take_value("step")  # the missing model's
        values.pop("step", None)
    shown, why = st.session_state.get(session_keys.MISSING_MODEL, (key, ""))
    if shown != key:
        st.session_state.pop(session_keys.MISSING_MODEL)
    elif why:
        st.warning(why, icon=":material/info:")
    query_params.set_value("model", key)  # first in the link
    return key


def _explain_missing(key: object, choices: Mapping[str, ModelChoice]) -> str:
    """Return why a well-formed model key of a link is unavailable, or ''."""
    from vitviz.models.model_cost import too_large
    from vitviz.models.pretrained_list import PRETRAINED
    from vitviz.training.run_directory import is_id

    if not isinstance(key, str) or key in choices:
        return ""
    kind, _, name = key.partition(":")
    if kind == "run" and is_id(name):
        return RUN_DELETED if runs.find_run(name) is None else RUN_EMPTY
    if own_weights.is_expired(key):
        return WEIGHTS_EXPIRED
    if key.startswith(recorded_runs.KEY) and key != recorded_runs.OPENED:
        return RECORDING_EXPIRED
    published_name, _ = published_weights.split_key(key)
    if key.startswith(published_weights.KEY) and published_name in PRETRAINED:
        entry = PRETRAINED[published_name]
        if too_large(entry.config):
            return f"{entry.title} is too large for this app. Another model is shown."
        return (
            f"{entry.title} is not on this server: download it under 'Add a model'. Another model is shown."
        )
    return CHECKPOINT_MISSING if kind in ("checkpoint", "preset") and _NAME.fullmatch(name) else ""


def _describe_step(model: ModelChoice, step: int) -> str:
    """Return the model's note at its last step, else the position of the step in the training."""
    last = model.steps[-1]
    if step == last or model.trained_on is None:
        return model.note
    if recorded_runs.is_recorded(model):
        return f"Step {step:,} of {last:,} of a recorded run."
    if step == 0:
        return f"Before training on {catalogue.get_dataset_title(model.trained_on)}."
    return f"Step {step:,} of {last:,} of training on {catalogue.get_dataset_title(model.trained_on)}."


@shared_cache.shared(max_entries=256)
def _encode_model(identity: str, _choice: ModelChoice, step: int, mode: Mode) -> str:
    filters = parameter_history.read_tensor(_choice, step, "patch_embed.proj.weight")
    if filters is not None and filters.ndim == 4 and filters.shape[1] in (1, 3):
        thumbnail = thumbnails.draw_filters(filters[:16], side_px=_MODEL_PX)
    else:
        thumbnail = thumbnails.draw_architecture(_choice.config, mode, side_px=_MODEL_PX)
    return thumbnails.encode_image(thumbnail)


@shared_cache.shared(max_entries=256)
def _encode_curve(curve: tuple[tuple[int, float], ...], steps: tuple[int, ...], step: int, mode: Mode) -> str:
    return thumbnails.encode_image(thumbnails.draw_curve(curve, steps, step, mode, _CURVE_PX))


def _draw_step(model: ModelChoice) -> int:
    steps = model.steps
    _replace_dropped_step(model)
    if len(steps) == 1:
        draw_follow_toggle(model)
        return _take_only_step(model)
    followed = follow_newest_step(model)
    step = widgets.select_slider(
        "step",
        "Step",
        steps,
        steps[-1],
        format_func=lambda at: f"{at:,}",
        help="Training step of the model's weights.",
        why_not="Disabled: the newest step is followed." if followed else None,
    )
    place = st.container(height=_CURVE_HEIGHT_PX, border=False, key="nouns-curve")
    curve = _encode_curve(model.curve, steps, step, selection.get_theme())
    element_cache.draw_cached(place, _draw_curve, curve, step, steps[-1], private=catalogue.is_private(model))
    draw_follow_toggle(model)
    return step


def _take_only_step(model: ModelChoice) -> int:
    """Return a model's only step, which nobody has selected: a run that goes on later shows its last one."""
    session_keys.get_control_values().pop("step", None)
    query_params.take_value("step")
    return model.steps[0]


def _draw_curve(curve: str, step: int, last: int) -> None:
    st.image(curve, alt=f"Step {step:,} of {last:,} on the training curve", width="stretch")


def follow_newest_step(model: ModelChoice) -> bool:
    if not is_training(model):
        return False
    if st.session_state.get(_FOLLOWED_RUN) != model.key:  # following starts off for each run
        st.session_state[_FOLLOWED_RUN] = model.key
        st.session_state[_FOLLOW_KEY] = False
    if not st.session_state.get(_FOLLOW_KEY):
        return False
    query_params.take_value("step")
    query_params.request_value("step", str(model.steps[-1]))
    return True


def draw_follow_toggle(model: ModelChoice) -> None:
    if not is_training(model):
        return
    is_followed = st.toggle(
        "Follow the newest step",
        key=_FOLLOW_KEY,
        help="This run is training: each new snapshot is selected when it is saved.",
    )
    st.fragment(_poll_run, run_every=_FOLLOW_POLL_S)(model.key, model.steps[-1], is_followed)


def is_training(model: ModelChoice) -> bool:
    if not model.key.startswith("run:"):
        return False
    run = runs.find_run(model.key.removeprefix("run:"))
    return run is not None and runs.read_status(run).active


def _poll_run(key: str, newest: int, followed: bool) -> None:
    """Rerun the page when a newer snapshot exists or the run has ended."""
    run = runs.find_run(key.removeprefix("run:"))
    runs.mark_active(session.get_current())
    if run is None or not runs.read_status(run).active or (followed and run.snapshots()[-1:] > [newest]):
        st.rerun()
