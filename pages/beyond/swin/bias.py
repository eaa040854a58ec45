"""Relative position bias: the table of every head, and how two tokens of a window index into it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import streamlit as st

from pages.beyond.swin import subject
from pages.beyond.swin import views as views
from pages.shell import controls, page
from pages.stores import cached, catalogue
from pages.stores.choice import ModelChoice
from vitviz.checkpoints import open_model
from vitviz.config import SwinConfig
from vitviz.plots import swin as plots
from vitviz.probe.swin_parts import block_window, position_bias_table
from vitviz.words import signed

MOST_STEPS = 24


def choose_block(key: str, config: SwinConfig) -> tuple[int, int]:
    """(stage, block) of one of the model's blocks, from 0."""
    blocks = [f"{stage + 1}.{block + 1}" for stage, d in enumerate(config.depths) for block in range(d)]
    chosen = controls.select(
        key,
        "Block",
        blocks,
        format_func=lambda name: plots.block_title("layers.{}.blocks.{}".format(*indices(name))),
    )
    return indices(chosen)


def indices(name: str) -> tuple[int, int]:
    """(0, 1) for '1.2'."""
    stage, _, block = name.partition(".")
    return int(stage) - 1, int(block) - 1


def spread_steps(steps: tuple[int, ...], shown: int) -> tuple[int, ...]:
    """At most two dozen of the steps, evenly, with the first, the last and the one that is shown."""
    if len(steps) <= MOST_STEPS:
        return steps
    places = np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(int)
    return tuple(sorted({*(steps[i] for i in places), shown}))


@st.cache_data(max_entries=24, show_spinner="Reading the snapshots …")
def tables_of(snapshots: tuple[tuple[Path, int, int], ...], stage: int, block: int) -> np.ndarray:
    """(steps, heads, table rows) of a block in every snapshot: a file, when it was written, and a step in it."""
    return np.stack(
        [position_bias_table(open_model(path, step).model, stage, block) for path, _, step in snapshots]  # type: ignore[arg-type]
    )


def draw(choice: ModelChoice, step: int) -> None:
    """Tables, index and matrix of one block."""
    st.subheader("Relative position bias", anchor=False)
    subject.remind(choice)
    config = subject.config_of(choice)
    left, _ = st.columns([2, 5])
    with left:
        stage, block = choose_block("swin.bias_block", config)
    model = cached.loaded(choice, step).model
    window = block_window(model, stage, block)  # type: ignore[arg-type]
    steps = spread_steps(choice.steps, step) if choice.trained_on is not None else (step,)
    if len(steps) > 1:
        files = ((catalogue.file_of(choice, moment), moment) for moment in steps)
        snapshots = tuple((path, path.stat().st_mtime_ns, moment) for path, moment in files if path)
        tables = tables_of(snapshots, stage, block)
    else:
        tables = position_bias_table(model, stage, block)[None]  # type: ignore[arg-type]
    at = steps.index(step) if step in steps else len(steps) - 1
    views.bias(plots.bias(tables, window, steps, at), key="swin.bias")
    page.caption(describe(tables[at], window))


def describe(table: np.ndarray, window: tuple[int, int]) -> str:
    """The caption, from the table's own numbers."""
    heads, rows = table.shape
    wide = 2 * window[1] - 1
    pairs = (window[0] * window[1]) ** 2
    head, entry = np.unravel_index(int(np.abs(table).argmax()), table.shape)
    dr, dc = int(entry) // wide - window[0] + 1, int(entry) % wide - window[1] + 1
    centre = table[:, rows // 2].mean() - table.mean()
    side = "above" if centre > 0 else "below"
    return (
        f"(2·{window[0]} − 1)(2·{window[1]} − 1) = {rows:,} numbers a head stand for all {pairs:,} pairs of a window,"
        f" {rows * heads:,} in this block. The largest is {signed(table[head, entry], 3)}, in head {head + 1}, for"
        f" a query {offset(dr, 'below', 'above')} and {offset(dc, 'right of', 'left of')} its key; a token’s bias to"
        f" itself lies {abs(centre):.3f} {side} the mean."
    )


def offset(by: int, plus: str, minus: str) -> str:
    """'2 below', 'level with' where there is no difference."""
    return f"{abs(by)} {plus if by > 0 else minus}" if by else "level with"
