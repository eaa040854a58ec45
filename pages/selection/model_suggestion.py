"""Suggest a model that fits the image: a colour model for photos, a digit model for digits."""

from dataclasses import dataclass

import streamlit as st

from pages.controls import session_keys, widgets
from pages.selection import default_model, model_dialog, selection
from pages.selection.substitutes import find_nearest_model
from pages.stores import catalogue, published_weights, registry, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.models.published_weights import SHIPPED, SMALL
from vitviz.pin import Pin
from vitviz.text import percent, plain

_PHOTOS = ("cifar10", "cifar100")  # datasets of colour photos
_DIGITS = ("digits", "mnist")
_DATASETS = {  # kind of image: datasets of the models that fit it
    "photos": _PHOTOS,
    "cifar10": ("cifar10",),
    "cifar10-few": ("cifar10",),
    "cifar100": ("cifar100", "cifar10"),
    "shapes": ("shapes",),
    "digits": _DIGITS,
    "mnist": _DIGITS,
    "drawing": _DIGITS,
}
_OWN_IMAGES = ("upload", "sample")
KEPT = "kept"  # a model that stays selected, but that a photo may still replace
_OFFERED = (SHIPPED, SMALL[0])  # the one that is here, and the smallest of the model hub


@dataclass(frozen=True)
class PreviousModel:
    """The selection before the app switched the model for a photo; restored by one click."""

    model: str
    step: int
    pin: Pin | None
    layers: tuple[tuple[str, object], ...]  # every page's layer control and its value; None: unset
    suggested: str  # key of the model that the app selected


def suggest_for_image(image: str, *, for_this_page: bool = False) -> None:
    """Switch from the default model to a photo model, or else to a colour model, when the user adds a colour image.

    A page that needs what the photo model lacks, such as classes, shows a substitute of a grey model's successor; the
    next page shows the photo model itself. With `for_this_page`, the substitute is selected for all pages.
    """
    model = selection.get_model_choice()
    chosen = st.session_state.get(session_keys.MODEL_CHOSEN)
    if (chosen and chosen != KEPT) or not shared_cache.is_coloured(image):
        return
    photo_model = find_photo_model(_get_need())
    if is_photo_model(model) or (photo_model is None and not _needs_colour(model, image)):
        return
    target = photo_model or find_photo_model("embedding") or _find_fitting_model(model, image)
    if for_this_page and target is not None:
        target = find_nearest_model(lambda config: bool(getattr(abilities(config), _get_need())), target)
    if target is None:
        return
    current, values = selection.get_current(), session_keys.get_control_values()
    layers = tuple((entry.layer, values.get(entry.layer)) for entry in registry.PAGES if entry.layer)
    selected = selection.list_models().get(values.get("model", ""), model)  # the page may show a substitute
    step = current.step if selected.key == current.model else selected.last_step
    _switch(target, PreviousModel(selected.key, step, values.get("pin"), layers, target.key))
    values["pin"] = Pin(None, "cls") if abilities(target.config).cls_readout else None


def keep_model(image: str) -> None:
    """Keep a page's own default model for an image that it can read: the app's default would replace it."""
    model = selection.get_model_choice()
    default = default_model.get_default_model(st.session_state.get(session_keys.PAGE, ""))
    if (
        model.key
        != session_keys.get_control_values().get("model")  # a substitute, which the page alone shows
        or not selection.is_default_model()
        or session_keys.PREVIOUS_MODEL in st.session_state
        or model.key == default
    ):
        return
    is_digit = _DATASETS.get(image.partition(":")[0]) == _DIGITS
    if not _needs_colour(model, image) and is_digit == (model.preparation.in_chans == 1):
        selection.set_model(model.key, selection.get_current().step)
        st.session_state[session_keys.MODEL_CHOSEN] = KEPT


def _switch(target: ModelChoice, previous: PreviousModel) -> None:
    """Select a model at its last step and layer without counting it as the user's choice."""
    selection.set_model(target.key)
    st.session_state[session_keys.MODEL_CHOSEN] = False
    st.session_state[session_keys.PREVIOUS_MODEL] = previous
    _open_last_layer(target)


def _open_last_layer(model: ModelChoice) -> None:
    """Set every page's layer to the model's last one, or Attention's to that of its opening map."""
    opening = published_weights.find_opening_map(model.key)
    if not abilities(model.config).blocks:
        return
    for entry in registry.PAGES:
        if entry.layer:
            widgets.set_control(entry.layer, as_vit(model.config).depth)
    if opening is not None:
        widgets.set_control("attention.layer", opening[0])


def _is_photo(image: str) -> bool:
    return image.partition(":")[0] in _OWN_IMAGES and shared_cache.is_coloured(image)


def draw(model: ModelChoice, image: str) -> None:
    """Draw why the app selected the model in use and a way back, or a checkpoint that fits the image."""
    previous = _get_previous_model(model)
    if previous is not None:
        if not _is_photo(image):
            return
        accuracy = "" if model.accuracy is None else f" ({percent(model.accuracy)} test accuracy)"
        _draw_note(
            f"{model.shown}, a model of photos, was selected for this photo."
            if is_photo_model(model)
            else f"{_explain_grey(previous)}: {model.shown} is shown instead{accuracy}."
        )
        st.button(
            f"Back to {previous.shown}",
            key="nouns.undo",
            icon=":material/undo:",
            on_click=_restore,
            width="stretch",
        )
    else:
        needs_colour = _needs_colour(model, image)
        is_digit = _DATASETS.get(image.partition(":")[0]) == _DIGITS
        needs_grey = model.preparation.in_chans == 3 and is_digit
        target = _find_fitting_model(model, image) if needs_colour or needs_grey else None
        if target is None:
            return
        _draw_note(
            f"{_explain_grey(model)}."
            if needs_colour
            else f"This is a grey digit, and {model.shown} expects colour images."
        )
        st.button(
            f"Show {target.shown} instead",
            key="nouns.fitting",
            on_click=_select_model,
            args=(target.key,),
            width="stretch",
        )


def draw_offer(model: ModelChoice, image: str) -> bool:
    """Offer photo models for a photo unless one is shown; return True if they are offered."""
    selected = str(session_keys.get_control_values().get("model", ""))  # the page may show a substitute
    if is_photo_model(model) or selected.startswith(published_weights.KEY) or not _is_photo(image):
        return False
    st.markdown("**See it with a photo model**")
    for name in _OFFERED:
        offer = PRETRAINED[name]
        licence = f" ({plain(offer.licence)})" if offer.licence else ""
        st.caption(
            f"**{plain(offer.title)}**: {plain(offer.summary)}; {offer.megabytes:,.0f} MB from"
            f" {plain(offer.source)}{licence}."
        )
        model_dialog.draw_download_button(offer, "offer", open_model)
    model_dialog.draw_published_button("nouns.published_offer")
    return True


def _get_previous_model(model: ModelChoice) -> ModelChoice | None:
    previous: PreviousModel | None = st.session_state.get(session_keys.PREVIOUS_MODEL)
    return (
        None
        if previous is None or previous.suggested != model.key or not selection.is_default_model()
        else selection.list_models().get(previous.model)
    )


def _explain_grey(model: ModelChoice) -> str:
    return f"This image has colour, but {model.shown} reads grey images"


def _draw_note(sentence: str) -> None:
    st.info(sentence, icon=":material/palette:")


def _restore() -> None:
    """Restore the previous model, step, pin and layers; the image stays."""
    previous: PreviousModel = st.session_state.pop(session_keys.PREVIOUS_MODEL)
    if previous.model not in selection.refresh_models():  # a run deleted meanwhile
        return
    selection.set_model(previous.model, previous.step)
    values = session_keys.get_control_values()
    values["pin"] = previous.pin
    for key, layer in previous.layers:
        if layer is None:
            values.pop(key, None)
            st.session_state.pop(key, None)
        else:
            widgets.set_control(key, layer)


def _select_model(model: str) -> None:
    if model in selection.refresh_models():
        selection.set_model(model)


def _needs_colour(model: ModelChoice, image: str) -> bool:
    return model.preparation.in_chans == 1 and shared_cache.is_coloured(image)


def _get_need() -> str:
    page = registry.BY_SLUG.get(st.session_state.get(session_keys.PAGE, ""))
    return registry.PAGES[0].need if page is None else page.need


def _find_fitting_model(model: ModelChoice, image: str) -> ModelChoice | None:
    """Return the best checkpoint trained on such images that the page supports.

    For the user's own image: not a plain ViT if there is another, then by validation accuracy. For a dataset's image:
    trained on this dataset, of the same family, by test accuracy.
    """
    kind = image.partition(":")[0]
    is_own, need = kind in _OWN_IMAGES, _get_need()
    datasets = _PHOTOS if is_own else _DATASETS.get(kind, ())

    def fits(choice: ModelChoice) -> bool:
        able = abilities(choice.config)
        return bool(getattr(able, need)) and (bool(able.heads_over_all) or need == "windows")

    candidates = (
        choice for choice in catalogue.list_checkpoints() if choice.trained_on in datasets and fits(choice)
    )

    def rank(choice: ModelChoice) -> tuple[bool, bool, float]:
        if is_own:
            validated = choice.curve[-1][1] if choice.curve else choice.accuracy or 0.0
            return True, choice.config.family != "vit", validated
        same_family = choice.config.family == model.config.family
        return choice.trained_on == kind, same_family, choice.accuracy or 0.0

    return max(candidates, key=rank, default=None)


# ---------------------------------------------------------------- photo models


def is_photo_model(choice: ModelChoice) -> bool:
    return choice.key.startswith(published_weights.KEY)


def find_photo_model(need: str) -> ModelChoice | None:
    """Return the first photo model on this server that has an ability: the shipped one, then small ones."""
    models = selection.list_models()
    for name in (SHIPPED, *SMALL):
        choice = models.get(f"{published_weights.KEY}{name}")
        if choice is not None and getattr(abilities(choice.config), need):
            return choice
    return None


def open_model(name: str) -> None:
    """Select a photo model at its last layer, with [CLS] as query and the page's default head."""
    key = f"{published_weights.KEY}{name}"
    models = selection.refresh_models()
    if key not in models:
        return
    selection.set_model(key)
    values = session_keys.get_control_values()
    values["pin"] = Pin(None, "cls")
    for control in ("attention.head", session_keys.PREVIOUS_MODEL):
        values.pop(control, None)
        st.session_state.pop(control, None)
    _open_last_layer(models[key])
