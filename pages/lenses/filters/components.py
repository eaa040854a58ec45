"""Principal components of filters: random, trained, of other models and of a CNN, through training."""

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.filters import captions, filter_controls, sources
from pages.lenses.filters.filter_controls import FilterControls
from pages.lenses.filters.sources import FilterHistory, cuts_patches
from pages.selection import selection
from pages.stores import parameter_history, shared_cache
from pages.views.register import register
from vitviz.analysis import filters
from vitviz.analysis.filters import FloatArray
from vitviz.csv_table import Columns, columns_of
from vitviz.lessons import weight_measures
from vitviz.lessons.lesson import Question
from vitviz.plots import filters as plots
from vitviz.text import plain

mount_tiles = register(__file__, "tiles_view")
COLUMNS = 7
_compute_components = shared_cache.shared(max_entries=48)(filters.components_over_time)


def draw() -> None:
    choice = selection.get_model_choice()
    controls = filter_controls.draw_controls()
    main, models = filter_controls.load_models(controls)
    if not cuts_patches(choice.config):
        st.info(
            "This model has no patch embedding: shown are the 3 × 3 filters of its first convolution.",
            icon=":material/filter_alt:",
        )
    page.untrained_note(choice.trained_on)
    frame = parameter_history.compute_start_frame(
        [(len(model.weights), model.frame) for model in (main, *models)]
    )
    frames = parameter_history.compute_frames(frame, [len(model.weights) for model in models])
    models = [replace(model, frame=model_frame) for model, model_frame in zip(models, frames, strict=True)]
    word = "filter" if controls.kind == "raw" else "component"
    payload = plots.tiles([_create_sheet(model, controls) for model in models], COLUMNS, frame, word)
    mount_tiles(payload, key="filters.tiles")
    sentences = (_describe_model(model, controls.grey) for model in models)
    page.caption(" ".join((*sentences, captions.describe_tile(word))))
    page.drawers(
        "filters.components",
        math=page.read_math(__file__),
        code=(filters.principal_components, filters.align_signs),
        numbers=partial(_draw_downloads, models, controls),
        ask=Question(
            "What share of the variance do the first five components explain?",
            weight_measures.ExplainedVariance(),
        ),
    )


def _average_channels(weights: FloatArray, grey: bool) -> FloatArray:
    return weights.mean(axis=1, keepdims=True) if grey else weights


def _create_sheet(model: FilterHistory, controls: FilterControls) -> plots.Sheet:
    weights = [_average_channels(snapshot, controls.grey) for snapshot in model.weights]
    if controls.kind == "raw":
        maps = np.stack([snapshot[: controls.count] for snapshot in weights])
        return plots.Sheet(model.title, model.note, maps, None, model.moments, [""] * len(maps))
    maps, shares = _compute_components(weights, controls.count)
    sentences = [captions.describe_shares(share) for share in shares]
    return plots.Sheet(model.title, model.note, maps, shares, model.moments, sentences)


def _describe_model(model: FilterHistory, grey: bool) -> str:
    weights = _average_channels(model.selected_weights, grey)
    look = sources.measure_smoothness(weights)
    first_share, random_share = 0.0, 1.0
    if model.trained and look.head >= filters.NOISY:  # only then does the sentence name them
        first_share = sources.measure_first_share(weights)
        random_share = sources.measure_random_share(weights.shape)
    return captions.describe_filters(model, look, first_share, random_share)


def _draw_downloads(models: list[FilterHistory], controls: FilterControls) -> None:
    for index, model in enumerate(models):
        weights = model.selected_weights
        components = filters.principal_components(_average_channels(weights, controls.grey), controls.count)
        st.markdown(f"**{plain(model.title)}** · {plain(model.note)} {model.moments[model.frame]}")
        page.shapes(E=weights.shape, components=components.maps.shape)
        with st.container(horizontal=True):
            page.csv(
                "Components (CSV)",
                _list_rows("component", components.maps, {"share of variance": components.explained}),
                f"components_{index + 1}.csv",
                f"filters.csv_components{index}",
            )
            page.csv(
                "Raw filters (CSV)",
                _list_rows("filter", weights, {}),
                f"filters_{index + 1}.csv",
                f"filters.csv_raw{index}",
            )


def _list_rows(name: str, maps: FloatArray, more: Columns) -> Columns:
    """Return one row per map (C, P, P), counted from 1."""
    flat = maps.reshape(len(maps), -1)
    weights = columns_of(flat, [f"w{i}" for i in range(flat.shape[1])])
    return {name: range(1, len(flat) + 1)} | dict(more) | weights
