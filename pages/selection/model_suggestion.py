"""A photo before a model of grey digits, or a digit before one of photos: the model that fits, gone to or offered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from pages.controls import session_keys, widgets
from pages.frame import registry
from pages.selection import model_dialog, selection
from pages.stores import cached, catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.models.abilities import abilities, as_vit
from vitviz.pin import Pin
from vitviz.text import percent

_PHOTOS = ("cifar10", "cifar100")  # sets of colour photos that a shipped model can have learned from
_DIGITS = ("digits", "mnist")
_SETS = {  # of a picture's kind: what a model that fits it learned from
    "photos": _PHOTOS,
    "cifar10": ("cifar10",),
    "cifar10-few": ("cifar10",),
    "cifar100": ("cifar100", "cifar10"),
    "shapes": ("shapes",),
    "digits": _DIGITS,
    "mnist": _DIGITS,
}
_YOURS = ("upload", "sample")


@dataclass(frozen=True)
class Former:
    """What was shown before the app chose a model for a photo: one click leads back."""

    model: str
    step: int
    pin: Pin
    layers: tuple[tuple[str, object], ...]  # of every page's control of a layer what it said; None: nothing
    shown: str  # the model that was chosen


def came(image: str) -> None:
    """A visitor has just brought a picture: one in colour takes a grey model that nobody chose to one of photos."""
    model = selection.models().get(selection.current().model)
    if model is None or st.session_state.get(session_keys.BY_HAND) or not _lacks_colour(model, image):
        return
    target = _fitting(model, image)
    if target is None:
        return
    now, kept = selection.current(), session_keys.kept()
    layers = tuple((entry.layer, kept.get(entry.layer)) for entry in registry.PAGES if entry.layer)
    _take(target, Former(model.key, now.step, now.pin, layers, target.key))
    kept["pin"] = Pin(None, "cls") if abilities(target.config).cls_readout else Pin()


def go_on(target: ModelChoice) -> bool:
    """A page has nothing to show of a model that the app chose for a photo: goes on to one of which it has.

    Returns:
        Whether it does, with the next run; a model that the visitor chose is kept.
    """
    former: Former | None = st.session_state.get(session_keys.FORMER)
    if former is None or former.shown != selection.current().model or not selection.nobody_chose():
        return False
    _take(target, replace(former, shown=target.key))
    return True


def _take(target: ModelChoice, former: Former) -> None:
    """Shows a model, at its last step and layer, that nobody chose by hand; `former` leads back."""
    selection.set_model(target.key)
    st.session_state[session_keys.BY_HAND] = False
    st.session_state[session_keys.FORMER] = former
    if abilities(target.config).blocks:
        for key, _ in former.layers:
            widgets.set_value(key, as_vit(target.config).depth)


def draw(model: ModelChoice, image: str) -> bool:
    """Under the picture: which model reads it now and the way back, or the offer of one that fits.

    Returns:
        Whether models of photos are offered with it.
    """
    yours = image.partition(":")[0] in _YOURS
    former = _former(model)
    if former is not None:
        if not (yours and cached.in_colour(image)):
            return False
        does = (
            "" if model.accuracy is None else f", right on {percent(model.accuracy)} of its own test pictures"
        )
        _say(f"{_grey(former)}: {model.shown} is shown instead{does}.")
        st.button(
            f"Back to {former.shown}",
            key="nouns.undo",
            icon=":material/undo:",
            on_click=_back,
            width="stretch",
        )
    else:
        wants_colour = _lacks_colour(model, image)
        target = _fitting(model, image) if wants_colour or _lacks_digits(model, image) else None
        if target is None:
            return False
        _say(
            f"{_grey(model)}."
            if wants_colour
            else f"This is a grey digit, and {model.shown} was made for colour pictures."
        )
        st.button(
            f"Show {target.shown} instead",
            key="nouns.fitting",
            on_click=_show,
            args=(target.key,),
            width="stretch",
        )
    if yours:
        model_dialog.offer("nouns.imagenet_said")
    return yours


def _former(model: ModelChoice) -> ModelChoice | None:
    """What was shown before the app chose this model, where it did and that is still here."""
    former: Former | None = st.session_state.get(session_keys.FORMER)
    return None if former is None or former.shown != model.key else selection.models().get(former.model)


def _grey(model: ModelChoice) -> str:
    return f"This picture has colour, and {model.shown} reads grey ones"


def _say(sentence: str) -> None:
    st.info(sentence, icon=":material/palette:")


def _back() -> None:
    """To the model, step, pin and layers of before; the picture stays."""
    former: Former = st.session_state.pop(session_keys.FORMER)
    if former.model not in selection.models_now():  # a run that was removed meanwhile
        return
    selection.set_model(former.model, former.step)
    kept = session_keys.kept()
    kept["pin"] = former.pin
    for key, value in former.layers:
        if value is None:
            kept.pop(key, None)
            st.session_state.pop(key, None)
        else:
            widgets.set_value(key, value)


def _show(model: str) -> None:
    if model in selection.models_now():
        selection.set_model(model)


def _lacks_colour(model: ModelChoice, image: str) -> bool:
    return model.preparation.in_chans == 1 and cached.in_colour(image)


def _lacks_digits(model: ModelChoice, image: str) -> bool:
    return model.preparation.in_chans == 3 and image.partition(":")[0] in _DIGITS


def _fitting(model: ModelChoice, image: str) -> ModelChoice | None:
    """Of the shipped models that learned from such pictures and have what the page shows: one of the family of the
    model on show, which has its parts on every page, and of these the most accurate."""
    kind = image.partition(":")[0]
    sets = _PHOTOS if kind in _YOURS else _SETS.get(kind, ())
    page = registry.BY_SLUG.get(st.session_state.get(session_keys.PAGE, ""))
    need = registry.PAGES[0].need if page is None else page.need

    def fits(choice: ModelChoice) -> bool:
        able = abilities(choice.config)
        return bool(getattr(able, need)) and (bool(able.heads_over_all) or need == "windows")

    found = (choice for choice in catalogue.shipped() if choice.trained_on in sets and fits(choice))

    def rank(choice: ModelChoice) -> tuple[bool, bool, float]:
        same_family = choice.config.family == model.config.family
        return choice.trained_on == kind, same_family, choice.accuracy or 0.0

    return max(found, key=rank, default=None)
