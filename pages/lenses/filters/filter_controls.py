"""The controls of the tiles, and the choice of models that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page
from pages.lenses.filters import sources
from pages.lenses.filters.sources import FilterHistory
from pages.lessons import open_lesson
from pages.selection import selection, substitute
from pages.stores.model_choice import ModelChoice
from vitviz.models.abilities import abilities
from vitviz.text import plain

COUNTS = (4, 7, 14, 28, 42, 56, 70, 84)
NOTHING = "nothing"
_REPLACED_MODEL = "filters.behind"  # query parameter: the default model that a clearer one precedes
KINDS = {"components": "Components", "raw": "Raw filters", "change": "Learned change"}


@dataclass(frozen=True)
class FilterControls(widgets.ControlValues, page="filters"):
    """The kind and number of tiles, and the compared models (keys of models, or NOTHING)."""

    kind: str
    beside: str
    cnn: str
    count: int
    grey: bool


@dataclass(frozen=True, eq=False)
class FilterSheets:
    """Models in the order in which they are shown; the one at `active` has its first tile enlarged."""

    models: list[FilterHistory]
    main: FilterHistory  # the sidebar's, whose step decides
    active: int


def draw_controls(initial: ModelChoice | None) -> FilterControls:
    """Draw the controls; `initial` is the model shown before the sidebar's, if any."""
    model = selection.get_model_choice()
    with page.row():
        with st.container(width="content"):
            kind = _draw_kind(model)
        with page.options("filters"):
            others = {
                key: other
                for key, other in selection.list_models().items()
                if key != model.key and abilities(other.config).filters
            }
            beside, cnn = _draw_second_model(others, initial), _draw_cnn(others)
            count = widgets.select(FilterControls.key("count"), "Number of tiles", COUNTS, 28)
            one_channel = getattr((initial or model).config, "in_chans", 3) == 1
            grey = widgets.toggle(
                FilterControls.key("grey"),
                "Average the channels (grey)",
                why_not="This model has only one channel." if one_channel else None,
            )
    return FilterControls(kind, beside, cnn, count, grey)


def _draw_kind(model: ModelChoice) -> str:
    return widgets.segmented(
        FilterControls.key("kind"),
        "Tiles",
        tuple(kind for kind in KINDS if kind != "change" or len(model.steps) > 1),
        "components",
        format_func=KINDS.__getitem__,
        help="Learned change: components of E minus its first snapshot, without the initial noise.",
    )


def _draw_second_model(others: Mapping[str, ModelChoice], initial: ModelChoice | None) -> str:
    titles = {NOTHING: "None"} | {
        key: model.title
        for key, model in others.items()
        if model.trained_on is not None and model.config.kind != "cnn"
    }
    default = initial.key if initial is not None else _choose_second_model(others, tuple(titles))
    return widgets.select(
        FilterControls.key("beside"), "Second model", tuple(titles), default, format_func=titles.__getitem__
    )


def _choose_second_model(others: Mapping[str, ModelChoice], keys: tuple[str, ...]) -> str:
    """Return the first of: pretrained weights, the clearest model, a model of colour images, NOTHING."""
    pretrained = [key for key in keys if key.startswith("pretrained:")]
    clearest = sources.find_clearest_model()
    clear = [key for key in keys if clearest is not None and key == clearest.key]
    colour = [key for key in keys if key in others and others[key].preparation.in_chans == 3]
    return next(iter((*pretrained, *clear, *colour)), NOTHING)


def _draw_cnn(others: Mapping[str, ModelChoice]) -> str:
    cnns = {key: model for key, model in others.items() if model.config.kind == "cnn"}
    trained = [key for key, model in cnns.items() if model.trained_on is not None]
    titles = {NOTHING: "None"} | {
        key: model.title if key in trained else f"{model.title} (untrained)" for key, model in cnns.items()
    }
    default = next(iter((*trained, *cnns)), NOTHING)
    return widgets.select(
        FilterControls.key("cnn"), "CNN to compare", tuple(titles), default, format_func=titles.__getitem__
    )


def find_initial_model() -> ModelChoice | None:
    """Find the model shown before the sidebar's: the clearest one, if the sidebar's is a default without waves.

    The link names the model that is preceded, so it opens the same view. A lesson shows its own model.
    """
    clearest, key = sources.find_clearest_model(), selection.get_current().model
    if clearest is None or clearest.key == key or open_lesson.get_open_stop() is not None or _has_waves():
        return None
    replaced = query_params.take_value(_REPLACED_MODEL) or session_keys.get_control_values().get(
        _REPLACED_MODEL
    )
    if replaced != key and not selection.is_default_model():
        return None
    widgets.store_value(_REPLACED_MODEL, key)
    return clearest


@dataclass(frozen=True)
class ShownModel:
    """The model that a view of one model shows, its step, and an image for it."""

    choice: ModelChoice
    step: int
    image: str


def select_shown_model() -> ShownModel:
    """Return the sidebar's model or the initial one, and draw a note where it is not the sidebar's."""
    selected, initial = selection.get_current(), find_initial_model()
    draw_model_note(initial, beside=False)
    if initial is None:
        return ShownModel(selection.get_model_choice(), selected.step, selected.image)
    image, note = substitute.choose_image(initial)
    if note:
        st.markdown(f":gray[{note}]")
    return ShownModel(initial, initial.last_step, image)


def draw_model_note(initial: ModelChoice | None, *, beside: bool = True) -> None:
    """Draw a note on the clearest model, with a button that selects it, where the sidebar's shows no waves.

    Args:
        initial: the model shown in place of the sidebar's; None if there is none.
        beside: whether the sidebar's is shown too.
    """
    model, clearest = selection.get_model_choice(), initial or sources.find_clearest_model()
    if clearest is None or clearest.key == model.key or _has_waves():
        return
    title, selected = plain(clearest.title), plain(model.title)
    if initial is None:
        note = f":gray[{selected} shows no clear waves;] {title} :gray[shows the clearest.]"
    else:
        note = (
            f"{title} :gray[is shown because its filters are clearest; {selected} shows no clear waves"
            f"{' and is shown beside it' if beside else ''}.]"
        )
    left, line = page.sentence_row()
    left.markdown(note)
    line.button(
        f"Select {title}",
        key="filters.clearest",
        on_click=substitute.select_substitute,
        args=(clearest,),
    )


def _has_waves() -> bool:
    model = sources.load_filters(selection.get_model_choice(), selection.get_current().step)
    return sources.measure_smoothness(model.selected_weights).waves


def list_sheets(controls: FilterControls, initial: ModelChoice | None) -> FilterSheets:
    """Load random weights of the same shape, the sidebar's model and the compared ones, in order.

    Args:
        controls: values of the controls.
        initial: the compared model that is shown first; None: the sidebar's is.
    """
    choice, models = selection.get_model_choice(), selection.list_models()
    main = sources.load_filters(choice, selection.get_current().step)
    compared = [
        sources.load_filters(models[key], None) for key in (controls.beside, controls.cnn) if key != NOTHING
    ]
    trained = [main, *compared] if initial is None else [compared[0], main, *compared[1:]]
    if controls.kind == "change":
        changes = [sources.subtract_first_snapshot(model) for model in trained if len(model.weights) > 1]
        main_change = sources.subtract_first_snapshot(main)
        changes[1 if initial is not None and len(compared[0].weights) > 1 else 0] = main_change
        return FilterSheets(changes, main_change, 0)
    if initial is not None:
        return FilterSheets([*trained[:2], sources.create_random_filters(initial), *trained[2:]], main, 0)
    if choice.trained_on is None:
        return FilterSheets(trained, main, 0)
    return FilterSheets([sources.create_random_filters(choice), *trained], main, 1)
