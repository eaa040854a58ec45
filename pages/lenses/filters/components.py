"""Principal components of E beside random, trained, other models' and a CNN's filters, through training."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.filters import filter_controls, sources
from pages.lenses.filters.filter_controls import Choice
from pages.lenses.filters.sources import Filters
from pages.lenses.filters.tiles_view import tiles as tiles_view
from pages.selection import selection
from pages.stores import cached, parameter_history
from vitviz.analysis import filters
from vitviz.analysis.filters import NOISY, FloatArray
from vitviz.lessons import weight_measures
from vitviz.lessons.lesson import Question
from vitviz.models.abilities import abilities
from vitviz.plots import filters as plots
from vitviz.tables import Columns, columns_of
from vitviz.text import percent, plain

COLUMNS = 7

MATHEMATICS = r"""
$\mathbf{E} \in \mathbb{R}^{(P^2C) \times D}$ is a Conv2d weight $(D, C, P, P)$: $D$ filters of $C P^2$ weights.
With the $D$ filters as samples, centred, $X = U \Sigma V^\top$: row $i$ of $V^\top$, folded to
$(C, P, P)$, is principal component $i$, and
$\sigma_i^2 / \sum_j \sigma_j^2$ its share of the variance (Dosovitskiy et al. 2021, figure 7 left: the first 28).

Each tile is scaled by its own least and greatest value, so strong and weak components look alike: read the bars below
them. A component's sign is arbitrary; through training each is turned to agree with the frame before.
"""
ASKS = (
    Question(
        "Which share of the variance do the first five components hold?", weight_measures.VarianceHeld()
    ),
)


def draw() -> None:
    """The whole view: controls, sheets of tiles, caption, drawers."""
    choice = selection.choice()
    first = filter_controls.opens_with()
    chosen = filter_controls.read(first)
    if (
        first is not None and chosen.beside != first.key
    ):  # another one was put beside: the sidebar's is first again
        first = None
    shown = filter_controls.sheets(chosen, first)
    filter_controls.say_which(first)
    able = abilities(choice.config)
    if not able.embedding:
        st.info(
            "This model does not cut patches: shown are the 3 × 3 filters of its first convolution.",
            icon=":material/filter_alt:",
        )
    page.untrained_note(choice.trained_on)
    frame = parameter_history.shared_frame([(len(m.weights), m.frame) for m in (shown.main, *shown.models)])
    at = parameter_history.frames_at(frame, [len(model.weights) for model in shown.models])
    models = [replace(model, frame=moment) for model, moment in zip(shown.models, at, strict=True)]
    word = "filter" if chosen.kind == "raw" else "component"
    payload = plots.tiles([_sheet(model, chosen) for model in models], COLUMNS, frame, word, shown.active)
    tiles_view(payload, key="filters.tiles")
    page.caption(" ".join((_tile_in_words(word), *(describe(model, chosen.grey) for model in models))))
    page.drawers(
        "filters.components",
        math=MATHEMATICS,
        code=(filters.principal_components, filters.align_signs),
        numbers=partial(_numbers, models, chosen),
        asks=ASKS,
    )


def _tile_in_words(word: str) -> str:
    tile = "A tile is a filter" if word == "filter" else "A tile is a principal component of its filters"
    folded = "each of its columns, folded back into a square, is a filter"
    return f"{sources.WHAT_E_IS}; {folded}. {tile}."


def _coloured(weights: FloatArray, grey: bool) -> FloatArray:
    return weights.mean(axis=1, keepdims=True) if grey else weights


def _sheet(model: Filters, chosen: Choice) -> plots.Sheet:
    weights = [_coloured(moment, chosen.grey) for moment in model.weights]
    if chosen.kind == "raw":
        maps = np.stack([moment[: chosen.count] for moment in weights])
        return plots.Sheet(model.title, model.note, maps, None, model.moments, [""] * len(maps))
    maps, shares = _components(weights, chosen.count)
    told = [
        f"{len(share)} components hold {percent(share.sum(), 0)} of the variance, the first {percent(share[0], 0)}"
        for share in shares
    ]
    return plots.Sheet(model.title, model.note, maps, shares, model.moments, told)


@cached.shared(most=48)
def _components(weights: list[FloatArray], count: int) -> tuple[FloatArray, FloatArray]:
    return filters.components_over_time(weights, count)


def describe(model: Filters, grey: bool) -> str:
    """What a model's components are like, from their numbers, and honest where training has left noise."""
    found = sources.look(_coloured(model.now, grey))
    if found.waves:
        kind = f"the first are slow waves (roughness {found.head:.2f}; noise has about 1)"
        kind += ", the last are noise" if found.tail > NOISY else ", the last finer ones"
    elif found.head < NOISY:
        kind = f"the first are smoother than noise, but no clear waves (roughness {found.head:.2f})"
    else:
        kind = f"no structure: as rough as noise ({found.head:.2f})"
    return f"**{plain(model.title)}**: {found.count} components hold {percent(found.held, 0)}; {kind}."


def _numbers(models: list[Filters], chosen: Choice) -> None:
    for index, model in enumerate(models):
        found = filters.principal_components(_coloured(model.now, chosen.grey), chosen.count)
        st.markdown(f"**{plain(model.title)}** · {plain(model.note)} {model.moments[model.frame]}")
        page.shapes(E=model.now.shape, components=found.maps.shape)
        left, right = st.columns(2)
        with left:
            page.csv(
                "Components (CSV)",
                _rows("component", found.maps, {"share of variance": found.explained}),
                f"components_{index + 1}.csv",
                f"filters.csv_components{index}",
                stretch=True,
            )
        with right:
            page.csv(
                "Raw filters (CSV)",
                _rows("filter", model.now, {}),
                f"filters_{index + 1}.csv",
                f"filters.csv_raw{index}",
                stretch=True,
            )


def _rows(name: str, maps: FloatArray, more: Columns) -> Columns:
    """One line a map (C, P, P), which counts from 1."""
    flat = maps.reshape(len(maps), -1)
    weights = columns_of(flat, [f"w{i}" for i in range(flat.shape[1])])
    return {name: range(1, len(flat) + 1)} | dict(more) | weights
