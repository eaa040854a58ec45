"""Hierarchy: the stages' grids as a pyramid, and one merging of four tokens spelled out."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from pages.beyond.swin import subject
from pages.beyond.swin import views as views
from pages.shell import controls, nouns, page
from pages.stores import cached
from pages.stores.choice import ModelChoice
from vitviz.analysis.windows import merging
from vitviz.config import SwinConfig
from vitviz.models.layout import TokenLayout
from vitviz.plots import swin as plots
from vitviz.probe.swin_parts import merging_norm

KEY = "swin.pyramid"
ORDER = ((0, 0), (1, 0), (0, 1), (1, 1))  # (row, column) in the group, as the model concatenates


def draw(choice: ModelChoice, step: int) -> None:
    """The pyramid and the merging into one of its stages."""
    st.subheader("Hierarchy: four tokens become one", anchor=False)
    subject.remind(choice)
    model, config = cached.loaded(choice, step), subject.config_of(choice)
    into = 1
    if len(config.depths) > 2:
        into = (
            controls.segmented("swin.merge", "Merging into stage", tuple(range(2, len(config.depths) + 1)))
            - 1
        )
    prepared = nouns.prepared(model.preparation)
    grid = model.model.layout(*prepared.input.shape[-2:]).grid
    point = nouns.current().pin.point
    merge = None
    if len(config.depths) > 1:
        names = (f"layers.{into - 1}", f"layers.{into}.blocks.0.input")
        found = nouns.captured(choice, step, names)
        merge = one_merge(
            found[names[0]][0], found[names[1]][0], into, point, merging_norm(model.model, into)
        )  # type: ignore[arg-type]
    views.pyramid(
        plots.pyramid(subject.picture(model.preparation), config, grid, point, merge),
        key=KEY,
        on_change=partial(subject.keep_pin, KEY),
    )
    page.caption(describe(config, grid))


def one_merge(
    before: np.ndarray,
    after: np.ndarray,
    stage: int,
    point: tuple[float, float],
    norm: tuple[np.ndarray, np.ndarray, float],
) -> plots.Merge:
    """The group of four under the point, from the stage's output (H, W, C) to the next one's input (H/2, W/2, 2C)."""
    rows, cols = before.shape[:2]
    padded = np.pad(before, ((0, rows % 2), (0, cols % 2), (0, 0)))
    row, col = TokenLayout((), after.shape[:2], 1).patch_at(*point)
    places = [(2 * row + down, 2 * col + across) for down, across in ORDER]
    four = np.stack([padded[place] for place in places])
    _, normed = merging(four, *norm)
    return plots.Merge(stage, places, (row, col), four, normed, after[row, col])


def describe(config: SwinConfig, grid: tuple[int, int]) -> str:
    """The caption: tokens and values from the first stage to the last."""
    last = len(config.depths) - 1
    rows, cols = grid
    for _ in range(last):
        rows, cols = -(-rows // 2), -(-cols // 2)
    first, end = grid[0] * grid[1], rows * cols
    dim = config.embed_dim
    return (
        f"{first:,} tokens of {dim:,} values become {end:,} of {dim * 2**last:,}: {first / end:,.0f} times fewer,"
        f" {2**last} times as wide. A window keeps {config.window_size} × {config.window_size} tokens, so it covers"
        f" {config.window_size * config.patch_size} px of the picture at first and"
        f" {config.window_size * config.patch_size * 2**last} px at the end."
    )
