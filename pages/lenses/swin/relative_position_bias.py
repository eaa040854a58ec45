"""Relative position bias: the table of every head, and how a query and a key index into it."""

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions
from pages.selection import subject
from pages.selection.subject import Subject
from pages.stores import parameter_history
from pages.views.register import register
from vitviz.config import SwinConfig
from vitviz.models.abilities import as_swin
from vitviz.models.swin import WindowAttention
from vitviz.plots import swin as plots
from vitviz.probe.swin import block_window, position_bias_table
from vitviz.shifted_windows import relative_position_index

MOST_STEPS = 24
_view = register(__file__, "swin_bias")


def choose_block(config: SwinConfig) -> tuple[int, int]:
    """Draw the control; return (stage, block), from 0."""
    blocks = {
        f"{stage + 1}.{block + 1}": (stage, block)
        for stage, d in enumerate(config.depths)
        for block in range(d)
    }
    titles = {key: plots.block_title("layers.{}.blocks.{}".format(*block)) for key, block in blocks.items()}
    left, _ = st.columns([2, 5])
    with left:
        return blocks[widgets.select("swin.bias_block", "Block", titles)]


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
    name = f"layers.{stage}.blocks.{block}.attn.relative_position_bias_table"
    trained = swin.choice.trained_on is not None
    steps = parameter_history.select_steps(swin.choice.steps, swin.step, MOST_STEPS)
    choice = replace(swin.choice, steps=steps)
    history = dict(parameter_history.read_parameter(choice, name)) if trained else {}
    if not history:
        return (swin.step,), position_bias_table(swin.model.swin, stage, block)[None]
    return tuple(history), np.stack([table.T for table in history.values()])
