"""Hold the selection of a run of the page: model, step, image, pin and crop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.stores import (
    catalogue,
    moved_views,
    own_weights,
    recorded_runs,
    registry,
    session,
    shared_cache,
    uploads,
)
from pages.stores.model_choice import ModelChoice
from pages.views.event_values import read_events, read_index, read_pin
from vitviz.pin import Pin
from vitviz.plots.theme import Mode

if TYPE_CHECKING:
    from vitviz.config import ModelConfig, Preparation
    from vitviz.data.image_preprocessing import Prepared


# Fragments: a page's view, the image in the sidebar, and the links to the pages before and after.
VIEW, THUMBNAIL, LINKS = "page.view", "nouns.thumbnail", "page.links"
_SIDEBAR = ("model", "step", "nouns.source", "nouns.sample", "nouns.dataset", "nouns.index")  # controls there


@dataclass(frozen=True)
class Selection:
    """The selected keys of model and image, the step, the pin and the crop's position."""

    model: str
    step: int
    image: str
    pin: Pin  # a position in the prepared image, or a prefix token
    crop: float = 0.5  # position along the image's longer side, in [0, 1]
    whole: bool | None = (
        False  # True: the model is fitted to the whole image; None: the page does not do that
    )

    @property
    def offset(self) -> tuple[float, float]:
        """Return the crop's position as `vitviz.data.image_preprocessing.prepare` takes it."""
        return self.crop, self.crop


def get_current() -> Selection:
    """Return the selection of this run; app.py has resolved it before any page runs."""
    current: Selection = st.session_state[session_keys.SELECTION]
    return current


def list_models() -> Mapping[str, ModelChoice]:
    """Return the models that a page may load, and the selected one, as the sidebar has listed them."""
    selected = st.session_state.get(session_keys.SELECTION)
    may_differ = selected is not None and selected.model.startswith(own_weights.KEY)  # changed in another tab
    if session_keys.MODELS not in st.session_state or may_differ:
        refresh_models()
    models, lacking = st.session_state[session_keys.MODELS]
    without = lacking - {None if selected is None else selected.model}
    return {key: choice for key, choice in models.items() if key not in without} if without else models


def refresh_models() -> Mapping[str, ModelChoice]:
    """List the models of this user anew: every run of a page begins so."""
    models = catalogue.list_models(session.get_current())
    recorded = (key for key in models if key.startswith(recorded_runs.KEY))
    lacking = frozenset(key for key in recorded if recorded_runs.lacks_weights(models[key]))
    st.session_state[session_keys.MODELS] = (models, lacking)
    return models


def get_model_choice() -> ModelChoice:
    """Return the selected model's metadata without loading its weights; fitted to a whole image if that is shown."""
    current = get_current()
    choice = list_models()[current.model]
    return fit_choice(choice, current.image) if current.whole else choice


def get_patch_grid(config: ModelConfig) -> tuple[int, int] | None:
    """Return the rows and columns of a model's patches; None for a model without patches."""
    patch: int | None = getattr(config, "patch_size", None)
    if not patch:
        return None
    height, width = config.image_shape
    return height // patch, width // patch


def fit_choice(choice: ModelChoice, image: str) -> ModelChoice:
    """Return a ViT with an input of an image's proportions."""
    from vitviz.models.abilities import as_vit
    from vitviz.models.whole_image import fit_preparation, fit_size

    height, width = shared_cache.load_image(image).shape[:2]
    config = as_vit(choice.config)
    size = fit_size(config, (height, width))
    return replace(
        choice,
        config=replace(config, image_size=size),
        preparation=fit_preparation(choice.preparation, size),
        native=choice,
    )


def is_private() -> bool:
    """Return True if the model or the image belongs to the user's session."""
    return get_current().image.startswith(shared_cache.UPLOAD) or catalogue.is_private(get_model_choice())


def get_image_title(image: str) -> str:
    return (
        "Your image"
        if uploads.is_owner(session.get_current(), image)
        else shared_cache.get_image_title(image)
    )


def describe(model: ModelChoice, step: int, image: str) -> str:
    """Return the names of a model, its step if it has several, and an image, for everyone."""
    at = f", step {step:,}" if len(model.steps) > 1 else ""
    return f"{model.title}{at}, {shared_cache.get_image_title(image)}"


def is_default_model() -> bool:
    """Return True if the user has not selected a model, so that a page may start with a better one."""
    return not st.session_state.get(session_keys.MODEL_CHOSEN, False)


def prepare_image(preparation: Preparation) -> Prepared:
    current = get_current()
    return shared_cache.prepare_image(current.image, preparation, current.offset)


def get_theme() -> Mode:
    return "dark" if st.context.theme.type == "dark" else "light"


def resolve(model: str, step: int, image: str, crop: float, whole: bool | None) -> Selection:
    """Set the selection of this run and write it into the link, which holds a pin only if a token is pinned."""
    resolved = Selection(
        model, step, image, session_keys.get_control_values().get("pin") or Pin(), crop, whole
    )
    st.session_state[session_keys.SELECTION] = resolved
    for key in ("model", "step", "image", "pin"):
        if key != "pin" or is_pinned():
            query_params.set_value(key, str(getattr(resolved, key)))
    query_params.set_value("crop", f"{crop:g}")
    return resolved


def set_pin(pin: Pin | str) -> None:
    """Pin a token, given as a pin or as a view's text ('x,y' or a prefix token's name).

    Raises:
        ValueError: if the text is not a pin.
    """
    parsed = pin if isinstance(pin, Pin) else Pin.parse(pin)
    if parsed is None:
        raise ValueError(f"a pin is 'x,y' in [0, 1] or a prefix token's name, received {pin!r}")
    session_keys.get_control_values()["pin"] = parsed
    st.session_state[session_keys.SELECTION] = replace(get_current(), pin=parsed)
    query_params.set_value("pin", str(parsed))


def apply_click(view: str, **controls: str) -> None:
    """Pin the token that was clicked in a view, and set controls to the numbers that were clicked.

    A pin in a view that reruns alone reruns the thumbnail too, which marks the patch, and the links that carry it.

    Args:
        view: key of the view, in whose callback this runs; malformed events are ignored.
        controls: a control's key by the name of the view's event, such as layer="block.layer".
    """
    events = read_events(view)
    for name, key in controls.items():
        if (number := read_index(events.get(name))) is not None:
            widgets.set_control(key, number)
    if (pin := read_pin(events.get("pin"))) is not None:
        set_pin(pin)
        if session_keys.is_fragment_run():
            st.rerun([VIEW, THUMBNAIL, LINKS])


def note_sidebar() -> None:
    """Note what the sidebar's controls say when the view is drawn; run the page if a view alone finds them changed.

    A browser sends controls that change at once as one change, of a single fragment.
    """
    shown = {key: st.session_state[key] for key in _SIDEBAR if key in st.session_state}
    noted = st.session_state.get(session_keys.SIDEBAR, shown)
    # What the sidebar no longer draws has lost its value after the page's run.
    if session_keys.is_fragment_run() and any(
        shown[key] != noted[key] for key in shown.keys() & noted.keys()
    ):
        st.rerun()
    st.session_state[session_keys.SIDEBAR] = shown


def is_pinned() -> bool:
    """Return True if a click, a link or a model suggestion has pinned a token."""
    return session_keys.get_control_values().get("pin") is not None


def set_default_pin(pin: Pin) -> None:
    """Set a page's first token unless the user has pinned one; other pages and the link keep theirs."""
    if not is_pinned():
        st.session_state[session_keys.SELECTION] = replace(get_current(), pin=pin)


def substitute(current: Selection, model: str, step: int, image: str) -> Selection:
    """Show another model and image in this run; the link keeps the user's selection."""
    shown = replace(current, model=model, step=step, image=image, whole=None)
    st.session_state[session_keys.SELECTION] = shown
    return shown


def override_image(image: str) -> None:
    st.session_state[session_keys.SELECTION] = replace(get_current(), image=image)


def set_image(image: str) -> None:
    """Select another image with a centred crop, from the next run on; or call it in a callback."""
    query_params.request_value("image", image)
    query_params.request_value("crop", f"{Selection.crop:g}")


def set_model(model: str, step: int | None = None) -> None:
    """Select another model and step (None: the last) from the next run on; or call it in a callback.

    It counts as the user's choice.
    """
    steps = refresh_models()[model].steps
    st.session_state[session_keys.MODEL_CHOSEN] = True
    query_params.request_value("model", model)
    query_params.request_value("step", str(steps[-1] if step is None else step))


def link_to(slug: str, label: str | None = None, *, icon: str | None = None, **changes: object) -> None:
    """Draw a link to another page with the same selection and changes: `link_to("attention", pin="cls")`.

    Keys with a dot are the other page's controls: `link_to("attention", **{"attention.layer": 3})`. A page that is not
    there is not linked to.
    """
    slug, query = moved_views.translate(
        slug, {key: widgets.encode_value(setting) for key, setting in changes.items()}
    )
    entry = registry.BY_SLUG.get(slug)
    if entry is None:
        return
    st.page_link(
        entry.path,
        label=label or entry.title,
        icon=icon or f":material/{entry.icon}:",
        query_params=query_params.build_query(**query),
    )
