"""Resolve the model and the image that a page shows, before anything is drawn.

The user's selection stays in the permalink. Where a page cannot use it, the page shows a substitute, and the sidebar
shows the same one with the reason.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.controls import query_params, session_keys
from pages.selection import default_model, image_picker
from pages.selection.substitutes import (
    describe_training,
    find_matching_image,
    find_nearest_model,
    is_comparable,
)
from pages.stores import published_weights, recorded_runs, runs, session, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.stores.registry import PageEntry
from vitviz.config import ModelConfig
from vitviz.models.abilities import abilities
from vitviz.models.published_weights import SHIPPED
from vitviz.text import plain

VIEW_PAGES = {"on_your_picture": "on_picture"}  # the controls' name of a page, if it is not its address
PHOTO_MODEL = f"{published_weights.KEY}{SHIPPED}"
_SUITED = {  # kind of image: dataset of the models that suit it
    "cifar10": "cifar10",
    "cifar10-few": "cifar10",
    "cifar100": "cifar10",
    "shapes": "shapes",
    "mnist": "mnist",
    "drawing": "mnist",
    "digits": "digits",
}
# Pages that show the tables of a recorded run without weights; by view, '' is any other.
_READS_TABLES = {
    "positions": {"": "yes"},
    "filters": {"": "yes", "where": ""},
    "attention_distance": {"": "yes"},
}
OWN_IMAGE = "own"  # query parameter: 1 shows the selected image although the model was trained on others


@dataclass(frozen=True)
class Shown:
    """A model or image that a page shows, and the reason if it replaces the selected one."""

    value: str  # key of a model or of an image
    reason: str = ""  # '' for the selection itself


def find_default_model(entry: PageEntry, choices: Mapping[str, ModelChoice]) -> str:
    """Return the model that a page opens with where somebody lands on it first; a lesson has its own.

    A link that names an image without a model opens the model that suits the image.
    """
    if st.session_state.get(session_keys.LESSON) is not None:
        return default_model.get_default_model()
    image = st.session_state.get(session_keys.INCOMING, {}).get(
        "image", session_keys.get_control_values().get("image")
    )
    is_about_classes = bool(_read_of_view(entry, dict.fromkeys(entry.class_views, "yes")))
    keys = [PHOTO_MODEL] if entry.photo and not is_about_classes else []
    keys += [f"checkpoint:{entry.default}"] if entry.default else []
    if isinstance(image, str) and image_picker.image_exists(image):
        keys = _list_suited(image, keys)
    return next((key for key in keys if key in choices), default_model.get_default_model(entry.slug))


def _list_suited(image: str, keys: list[str]) -> list[str]:
    """Return the keys of models that suit an image, those of the page first."""
    kind = image.partition(":")[0]
    suited = [
        key for key in keys if key != PHOTO_MODEL and key.startswith(f"checkpoint:{_SUITED.get(kind)}_")
    ]
    if kind in ("upload", "sample"):
        return [PHOTO_MODEL, "checkpoint:cifar10_vit"] if shared_cache.is_coloured(image) else []
    return [*suited, f"checkpoint:{_SUITED[kind]}_vit"] if kind in _SUITED else []


def resolve_default_image(entry: PageEntry, model: ModelChoice) -> str:
    """Return the image that follows the model: that of the first page that showed it; '' for the model's own."""
    landed = st.session_state.get(session_keys.LANDED)
    if landed is not None and landed[0] != entry.slug and landed[1] == model.key:
        return str(landed[2])
    return find_default_image(entry, model)


def store_landing(entry: PageEntry, model: ModelChoice, image: str) -> None:
    """Remember the image of a model's first page, so that the next pages keep it."""
    landed = st.session_state.get(session_keys.LANDED)
    if landed is None or landed[0] == entry.slug or landed[1] != model.key:
        st.session_state[session_keys.LANDED] = (entry.slug, model.key, image)


def find_default_image(entry: PageEntry, model: ModelChoice) -> str:
    """Return the image on which a page opens with its default model; '' for the model's own."""
    if model.key == PHOTO_MODEL:
        return entry.photo
    return _read_of_view(entry, entry.images) if model.key == f"checkpoint:{entry.default}" else ""


def find_lab_recording(slug: str) -> str:
    """Return the key of the recorded run that the live lab shows instead of model and image; '' on other pages."""
    if slug != "live_lab":
        return ""
    return recorded_runs.find_shown(session.get_current(), query_params.peek_value("live_lab.run"))


def _find_lab_model(selected: ModelChoice, choices: Mapping[str, ModelChoice]) -> str:
    """Return the model whose training the live lab shows: of the run shown, else a recorded one."""
    visit_runs = runs.list_runs(session.get_current())
    if recorded := find_lab_recording("live_lab"):
        return recorded if recorded in choices else selected.key
    linked = runs.find_run(query_params.peek_value("live_lab.run").partition("/")[0])
    if (run := linked or next(iter(visit_runs), None)) is not None:
        models = {model.directory.name: model for model in runs.list_models(run)}
        member = models.get(query_params.peek_value("live_lab.member"), list(models.values())[-1])
        return f"run:{member.id}" if f"run:{member.id}" in choices else selected.key
    is_recorded = selected.key.startswith("checkpoint:") and len(selected.steps) > 2 and selected.curve
    return selected.key if is_recorded else default_model.get_default_model()


def get_view_key(entry: PageEntry) -> str:
    """Return the key of the control that selects a page's view."""
    return f"{VIEW_PAGES.get(entry.slug, entry.slug)}.view"


def _read_of_view(entry: PageEntry, texts: Mapping[str, str]) -> str:
    key = get_view_key(entry)
    incoming = st.session_state.get(session_keys.INCOMING, {})
    stored = st.session_state.get(key, session_keys.get_control_values().get(key, ""))
    return texts.get(incoming.get(key, stored), texts.get("", ""))


def resolve_model(entry: PageEntry, selected: ModelChoice, choices: Mapping[str, ModelChoice]) -> Shown:
    if entry.slug == "live_lab":
        followed = _find_lab_model(selected, choices)
        return Shown(followed, "" if followed == selected.key else "The lab shows the model of this run.")
    required = _read_of_view(entry, entry.requires).split()

    def list_missing(config: ModelConfig) -> list[str]:
        return [able.why_not for name in required if not (able := getattr(abilities(config), name))]

    missing = list_missing(selected.config)
    if recorded_runs.lacks_weights(selected) and not _reads_tables(entry, selected.config):
        missing = missing or [recorded_runs.NO_WEIGHTS]
    choices = {key: choice for key, choice in choices.items() if not recorded_runs.lacks_weights(choice)}
    if entry.slug == "on_your_picture":

        def has_rival(model: ModelChoice) -> bool:
            return sum(is_comparable(model, other) for other in choices.values()) > 1

        if not has_rival(selected) and (
            compared := {choice.key: choice for choice in choices.values() if has_rival(choice)}
        ):
            missing = missing or [f"No other model has the input format of {selected.shown}."]
            choices = compared
    if not missing:
        return Shown(selected.key)
    nearest = find_nearest_model(lambda config: not list_missing(config), selected, choices)
    # Beside the name of the model that is shown, 'this model' would be that one.
    reason = re.sub(r"\b[Tt]his (model|Swin)\b", lambda _: selected.shown, missing[0], count=1)
    file = f" ({plain(nearest.file_name)})" if nearest.title == selected.title else ""
    reason = re.sub(r": choose an? [^.:]+\.\Z", ".", reason)  # the next sentence names one
    return Shown(nearest.key, f"{reason} On this page, {nearest.shown}{file} is shown instead.")


def _reads_tables(entry: PageEntry, config: ModelConfig) -> bool:
    """Return True if a page shows a recorded run without its weights."""
    has_table = entry.slug != "positions" or getattr(config, "positions", "") in ("learned", "rotary")
    return has_table and bool(_read_of_view(entry, _READS_TABLES.get(entry.slug, {})))


def resolve_image(model: ModelChoice, selected: str, substituted: bool) -> Shown:
    """Return the image that the page shows with a substituted model: the selected one if it suits the model."""
    if not substituted or session_keys.get_control_values().get(OWN_IMAGE):
        return Shown(selected)
    matching = find_matching_image(model, selected)
    unchosen = "image" not in session_keys.get_control_values()  # a default needs no apology
    return Shown(matching, "" if unchosen or matching == selected else f"{describe_training(model)}.")
