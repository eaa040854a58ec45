"""Relative position bias: the table of every head, and how two tokens of a window index into it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import swin_selection, views
from pages.lenses.swin.swin_selection import Subject
from pages.stores import cached, catalogue
from vitviz.checkpoints import open_model
from vitviz.config import SwinConfig
from vitviz.models.swin import WindowAttention
from vitviz.plots import swin as plots
from vitviz.probe.swin_parts import block_window, position_bias_table
from vitviz.shifted_windows import relative_position_index
from vitviz.text import signed

MOST_STEPS = 24

MATHEMATICS = r"""
$$
B_{q,k} = \hat B\bigl[(\Delta r + M_h - 1)(2M_w - 1) + \Delta c + M_w - 1\bigr],
\qquad (\Delta r, \Delta c) = q - k
$$

is added to the score of query $q$ and key $k$, before the softmax. $\hat B$ is learned, a table of
$(2M_h - 1)(2M_w - 1)$ numbers for each head: pairs with the same offset read the same number, wherever the window lies.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*, equation 4.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """Whose table is shown: '1.2' is the second block of the first stage."""

    bias_block: str

    @property
    def place(self) -> tuple[int, int]:
        """(stage, block), from 0."""
        return _place(self.bias_block)


def _place(name: str) -> tuple[int, int]:
    stage, _, block = name.partition(".")
    return int(stage) - 1, int(block) - 1


def read(config: SwinConfig) -> Choice:
    """Draws the control."""
    names = [f"{stage + 1}.{block + 1}" for stage, d in enumerate(config.depths) for block in range(d)]
    left, _ = st.columns([2, 5])
    with left:
        return Choice(
            widgets.select(
                Choice.key("bias_block"),
                "Block",
                names,
                format_func=lambda name: plots.block_title("layers.{}.blocks.{}".format(*_place(name))),
            )
        )


def spread_steps(steps: tuple[int, ...], shown: int) -> tuple[int, ...]:
    """At most two dozen of the steps, evenly, with the first, the last and the one that is shown."""
    if len(steps) <= MOST_STEPS:
        return steps
    places = np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(int)
    return tuple(sorted({*(steps[i] for i in places), shown}))


@cached.shared(most=24, spinner="Reading the snapshots …")
def tables_of(snapshots: tuple[tuple[Path, int, int], ...], stage: int, block: int) -> NDArray[np.float32]:
    """(steps, heads, table rows) of a block in every snapshot: a file, when it was written, and a step in it."""
    return np.stack(
        [position_bias_table(open_model(path, step).swin, stage, block) for path, _, step in snapshots]
    )


def draw() -> None:
    """Tables, index and matrix of one block, then the drawers."""
    now = swin_selection.current()
    swin_selection.introduce(now, reads=False)
    _draw_block(now)
    page.drawers(
        "swin.bias",
        math=MATHEMATICS,
        code=(relative_position_index, WindowAttention.relative_position_bias),
    )


@st.fragment
def _draw_block(now: Subject) -> None:
    stage, block = read(now.config).place
    window = block_window(now.model.swin, stage, block)
    steps, tables = _over_training(now, stage, block)
    at = steps.index(now.step) if now.step in steps else len(steps) - 1
    views.bias(plots.bias(tables, window, steps, at), key="swin.bias")
    page.caption(describe(tables[at], window))


def _over_training(now: Subject, stage: int, block: int) -> tuple[tuple[int, ...], NDArray[np.float32]]:
    """Steps, and the block's tables (steps, heads, table rows); of random weights one step."""
    trained = now.choice.trained_on is not None
    steps = spread_steps(now.choice.steps, now.step) if trained else (now.step,)
    if len(steps) == 1:
        return steps, position_bias_table(now.model.swin, stage, block)[None]
    files = ((catalogue.file_of(now.choice, moment), moment) for moment in steps)
    snapshots = tuple((path, path.stat().st_mtime_ns, moment) for path, moment in files if path)
    return steps, tables_of(snapshots, stage, block)


def describe(table: NDArray[np.float32], window: tuple[int, int]) -> str:
    """The caption, from the table's own numbers."""
    heads, rows = table.shape
    wide = 2 * window[1] - 1
    pairs = (window[0] * window[1]) ** 2
    head, entry = np.unravel_index(int(np.abs(table).argmax()), table.shape)
    dr, dc = int(entry) // wide - window[0] + 1, int(entry) % wide - window[1] + 1
    centre = float(table[:, rows // 2].mean() - table.mean())
    side = f"{abs(centre):.3f} {'above' if centre > 0 else 'below'}" if abs(centre) >= 5e-4 else "at"
    return (
        f"(2·{window[0]} − 1)(2·{window[1]} − 1) = {rows:,} numbers a head stand for all {pairs:,} pairs of a window,"
        f" {rows * heads:,} in this block. The largest in size is {signed(float(table[head, entry]), 3)}, in head"
        f" {head + 1}, for {offset(dr, dc)}; a token’s bias to itself lies, on average over the heads, {side} the mean."
    )


def offset(down: int, right: int) -> str:
    """'a query 2 below and 1 left of its key', from query - key in rows and columns."""
    parts = []
    if down:
        parts.append(f"{abs(down)} {'below' if down > 0 else 'above'}")
    if right:
        parts.append(f"{abs(right)} {'right' if right > 0 else 'left'} of")
    return f"a query {' and '.join(parts)} its key" if parts else "a token and itself"
