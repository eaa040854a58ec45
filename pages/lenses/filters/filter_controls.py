"""The controls of the tiles, and the choice of models that are compared."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page, registry
from pages.lenses.filters import sources
from pages.lenses.filters.sources import FilterHistory
from pages.selection import selection
from pages.stores.model_choice import ModelChoice
from vitviz.models.abilities import abilities

COUNTS = (4, 7, 14, 28, 42, 56, 70, 84)
NOTHING = "nothing"
KINDS = {"components": "Components", "raw": "Raw filters", "change": "Learned change"}


@dataclass(frozen=True)
class FilterControls:
    """The kind and number of tiles, and the compared models (keys of models, or NOTHING)."""

    kind: str
    beside: str
    cnn: str
    count: int
    grey: bool


def draw_controls() -> FilterControls:
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
            beside, cnn = _draw_second_model(others), _draw_cnn(others)
            count = widgets.select("filters.count", "Number of tiles", COUNTS, 28)
            one_channel = getattr(model.config, "in_chans", 3) == 1
            grey = widgets.toggle(
                "filters.grey",
                "Average the channels (grey)",
                why_not="This model has only one channel." if one_channel else None,
            )
    return FilterControls(kind, beside, cnn, count, grey)


def _draw_kind(model: ModelChoice) -> str:
    return widgets.segmented(
        "filters.kind",
        "Tiles",
        {kind: title for kind, title in KINDS.items() if kind != "change" or len(model.steps) > 1},
        help="Learned change: components of the difference between E and its first snapshot.",
    )


def _draw_second_model(others: Mapping[str, ModelChoice]) -> str:
    titles = {NOTHING: "None"} | {
        key: model.title
        for key, model in others.items()
        if model.trained_on is not None and model.config.kind != "cnn"
    }
    default = _choose_second_model(others, tuple(titles))
    return widgets.select("filters.beside", "Second model", titles, default)


def _choose_second_model(others: Mapping[str, ModelChoice], keys: tuple[str, ...]) -> str:
    """Return the first of: pretrained weights, the page's default, a model of colour images, NOTHING."""
    pretrained = [key for key in keys if key.startswith("pretrained:") and "@" not in key]  # no larger twins
    clear = [key for key in keys if key == f"checkpoint:{registry.BY_SLUG['filters'].default}"]
    colour = [key for key in keys if key in others and others[key].preparation.in_chans == 3]
    return next(iter((*pretrained, *clear, *colour)), NOTHING)


def _draw_cnn(others: Mapping[str, ModelChoice]) -> str:
    cnns = {key: model for key, model in others.items() if model.config.kind == "cnn"}
    trained = [key for key, model in cnns.items() if model.trained_on is not None]
    titles = {NOTHING: "None"} | {
        key: model.title if key in trained else f"{model.title} (untrained)" for key, model in cnns.items()
    }
    default = next(iter((*trained, *cnns)), NOTHING)
    return widgets.select("filters.cnn", "CNN to compare", titles, default)


def load_models(controls: FilterControls) -> tuple[FilterHistory, list[FilterHistory]]:
    """Load the sidebar's model, and all models in the order in which they are shown."""
    choice, models = selection.get_model_choice(), selection.list_models()
    main = sources.load_filters(choice, selection.get_current().step)
    compared = [
        sources.load_filters(models[key], None) for key in (controls.beside, controls.cnn) if key != NOTHING
    ]
    trained = [main, *compared]
    if controls.kind == "change":
        several = [model for model in trained if len(model.weights) > 1]
        return sources.subtract_first_snapshot(main), list(map(sources.subtract_first_snapshot, several))
    if choice.trained_on is None:
        return main, trained
    return main, [main, sources.create_random_filters(choice.config), *compared]
