"""Relative position bias: the table of every head, and how a query and a key index into it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions
from pages.selection import subject
from pages.selection.subject import Subject
from pages.stores import cached, catalogue
from pages.views.register import register
from vitviz.checkpoints import open_model
from vitviz.config import SwinConfig
from vitviz.models.abilities import as_swin
from vitviz.models.swin import WindowAttention
from vitviz.plots import swin as plots
from vitviz.probe.swin_parts import block_window, position_bias_table
from vitviz.shifted_windows import relative_position_index

MOST_STEPS = 24
_view = register(__file__, "swin_bias")


@dataclass(frozen=True)
class BiasControls(widgets.ControlValues, page="swin"):
    """The block whose table is shown: '1.2' is the second block of the first stage."""

    bias_block: str


def _parse_block(name: str) -> tuple[int, int]:
    """Return (stage, block), from 0."""
    stage, _, block = name.partition(".")
    return int(stage) - 1, int(block) - 1


def choose_block(config: SwinConfig) -> tuple[int, int]:
    """Draw the control; return (stage, block), from 0."""
    names = [f"{stage + 1}.{block + 1}" for stage, d in enumerate(config.depths) for block in range(d)]
    left, _ = st.columns([2, 5])
    with left:
        name = widgets.select(
            BiasControls.key("bias_block"),
            "Block",
            names,
            format_func=lambda name: plots.block_title("layers.{}.blocks.{}".format(*_parse_block(name))),
        )
    return _parse_block(name)


def select_steps(steps: tuple[int, ...], selected: int) -> tuple[int, ...]:
    """Return at most `MOST_STEPS` evenly spaced steps with the first, the last and the selected one."""
    if len(steps) <= MOST_STEPS:
        return steps
    indices = np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(int)
    return tuple(sorted({*(steps[i] for i in indices), selected}))


@cached.shared(max_entries=24, spinner="Loading snapshots …")
def load_tables(snapshots: tuple[tuple[Path, int, int], ...], stage: int, block: int) -> NDArray[np.float32]:
    """Return a block's bias tables (steps, heads, rows); a snapshot is (file, modification time in ns, step)."""
    return np.stack(
        [position_bias_table(open_model(path, step).swin, stage, block) for path, _, step in snapshots]
    )


def draw() -> None:
    swin = subject.load_current()
    page.untrained_note(swin.choice.trained_on)
    _draw_block(swin)
    page.drawers(
        "swin.bias",
        math=page.read_math(__file__),
        code=(relative_position_index, WindowAttention.relative_position_bias),
    )


@st.fragment
def _draw_block(swin: Subject) -> None:
    stage, block = choose_block(as_swin(swin.model.config))
    window = block_window(swin.model.swin, stage, block)
    steps, tables = _load_tables_over_training(swin, stage, block)
    at = steps.index(swin.step) if swin.step in steps else len(steps) - 1
    _view(plots.bias(tables, window, steps, at), key="swin.bias")
    page.caption(captions.describe_bias(tables[at], window))


def _load_tables_over_training(
    swin: Subject, stage: int, block: int
) -> tuple[tuple[int, ...], NDArray[np.float32]]:
    """Return steps and tables (steps, heads, rows); an untrained model has one step."""
    trained = swin.choice.trained_on is not None
    steps = select_steps(swin.choice.steps, swin.step) if trained else (swin.step,)
    if len(steps) == 1:
        return steps, position_bias_table(swin.model.swin, stage, block)[None]
    files = ((catalogue.find_weights_file(swin.choice, step), step) for step in steps)
    snapshots = tuple((path, path.stat().st_mtime_ns, step) for path, step in files if path)
    return steps, load_tables(snapshots, stage, block)
