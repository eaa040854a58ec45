"""The three nouns, chosen once in the sidebar and kept from page to page and in the link: model, step, image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.controls import query_params, session_keys, widgets
from pages.frame import menu, registry
from pages.stores import cached, catalogue, session, uploads
from pages.stores.model_choice import ModelChoice
from vitviz.pin import Pin
from vitviz.plots.theme import Mode

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.preparation import Prepared
    from vitviz.probe.capture import Capture


@dataclass(frozen=True)
class Nouns:
    """What is chosen: keys of the model and the image, the step as a number, the pin, and the crop's place."""

    model: str
    step: int
    image: str
    pin: Pin  # a place of the prepared picture, or a prefix token
    crop: float = 0.5  # where the crop lies along the picture's longer side, in [0, 1]

    @property
    def offset(self) -> tuple[float, float]:
        """The crop's place as `vitviz.data.preparation.prepare` takes it."""
        return self.crop, self.crop


def current() -> Nouns:
    """What is chosen in this run; `draw` has been called by app.py before any page asks."""
    nouns: Nouns = st.session_state[session_keys.NOUNS]
    return nouns


def models() -> Mapping[str, ModelChoice]:
    """Every model that this visit can choose, by key; looked for once a run, so ask `models_now` when one has come."""
    mark, found = st.session_state.get(session_keys.MODELS, (None, {}))
    return found if mark is not None and mark is _mark() else models_now()


def models_now() -> Mapping[str, ModelChoice]:
    """Every model that this visit can choose, by key, looked for anew."""
    found = catalogue.models(session.current())
    st.session_state[session_keys.MODELS] = (_mark(), found)
    return found


def _mark() -> object:
    """An object of this run of the script, or of a fragment, and of no other; None outside of any."""
    context = get_script_run_ctx()
    return None if context is None else context.cursors  # Streamlit makes new ones whenever a run begins


def choice() -> ModelChoice:
    """What is known of the chosen model without loading it: config, preparation, steps."""
    return models()[current().model]


def are_own() -> bool:
    """Whether the model or the picture is the visitor's own, and gone when they leave."""
    return current().image.startswith(cached.UPLOAD) or catalogue.is_own(choice())


def picture_title(image: str) -> str:
    """What a picture is, in a few words to this visitor."""
    return "Your picture" if uploads.is_mine(session.current(), image) else cached.picture_title(image)


def nobody_chose() -> bool:
    """Whether the model is the one that the app opens with, so a page may begin with another that shows more."""
    return not st.session_state.get(session_keys.BY_HAND, False)


def prepared(how: Preparation) -> Prepared:
    """The chosen picture as a model reads it."""
    now = current()
    return cached.prepared(now.image, how, now.offset)


def captured(model: ModelChoice, step: int | None, patterns: tuple[str, ...]) -> Capture:
    """What a model computes on the chosen picture; see `cached.captured`."""
    now = current()
    return cached.captured(model, step, now.image, patterns, now.offset)


def mode() -> Mode:
    """The visitor's theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


def first_button() -> Literal["primary", "secondary"]:
    """The type of the button that a page is for: white on the dark theme's primary colour is too faint to read."""
    return "primary" if mode() == "light" else "secondary"


def settle(model: str, step: int, image: str, pin: Pin, crop: float) -> Nouns:
    """Makes these the nouns of this run, and writes them into the link."""
    nouns = Nouns(model, step, image, pin, crop)
    st.session_state[session_keys.NOUNS] = nouns
    for key in ("model", "step", "image", "pin"):
        query_params.put(key, str(getattr(nouns, key)))
    query_params.put("crop", f"{crop:g}")
    return nouns


def set_pin(pin: Pin | str) -> None:
    """Pins a token, or what a view says ('x,y' or a prefix token's name); kept from page to page.

    Raises:
        ValueError: if it is no pin.
    """
    parsed = pin if isinstance(pin, Pin) else Pin.parse(pin)
    if parsed is None:
        raise ValueError(f"a pin is 'x,y' in [0, 1] or a prefix token's name, received {pin!r}")
    session_keys.kept()["pin"] = parsed
    st.session_state[session_keys.NOUNS] = replace(current(), pin=parsed)
    query_params.put("pin", str(parsed))


def is_pinned() -> bool:
    """Whether a token has been pinned: by a click, by a link, or by what chose this model."""
    return "pin" in session_keys.kept()


def begin_at(pin: Pin) -> None:
    """A page's own first token, where the visitor has pinned none; it is not kept, so other pages begin at theirs."""
    if not is_pinned():
        st.session_state[session_keys.NOUNS] = replace(current(), pin=pin)
        query_params.put("pin", str(pin))


def look_at(image: str) -> None:
    """Another picture for the rest of this run alone: the sidebar and the link keep the chosen one."""
    st.session_state[session_keys.NOUNS] = replace(current(), image=image)


def set_image(image: str) -> None:
    """Chooses another picture, its crop in the middle; takes effect with the next run, or call it in a callback."""
    query_params.want("image", image)
    query_params.want("crop", f"{Nouns.crop:g}")


def set_model(model: str, step: int | None = None) -> None:
    """Chooses another model and step (None: its last); takes effect with the next run, or call it in a callback.

    It counts as the visitor's own choice.
    """
    steps = models_now()[model].steps
    st.session_state[session_keys.BY_HAND] = True
    query_params.want("model", model)
    query_params.want("step", str(steps[-1] if step is None else step))


def link_to(slug: str, label: str | None = None, *, icon: str | None = None, **changes: object) -> None:
    """A link to another page that keeps the nouns, with changes: `link_to("attention", pin="cls")`.

    Keys with a dot are the other page's controls: `link_to("attention", **{"attention.layer": 3})`. A page that is not
    there is not linked to.
    """
    entry = registry.BY_SLUG.get(slug)
    if entry is None:
        return
    st.page_link(
        menu.page(slug),
        label=label or entry.title,
        icon=icon or f":material/{entry.icon}:",
        query_params=query_params.query(**{key: widgets.encode(value) for key, value in changes.items()}),
    )
