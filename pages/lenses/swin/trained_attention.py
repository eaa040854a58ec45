"""A trained Swin's attention: maps inside the query's window, and each head's bias by relative position."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import captions
from pages.selection import attention_maps, pinned_token_captions, selection
from pages.selection import subject as subjects
from pages.stores import parameter_history
from pages.views.explorer import ExplorerOptions, draw_explorer, send_options
from pages.views.register import register
from vitviz.config import ModelConfig, SwinConfig
from vitviz.models import abilities, token_layout
from vitviz.models.swin import WindowAttention
from vitviz.plots import attention_message
from vitviz.plots import swin as plots
from vitviz.probe.swin import block_window, position_bias_table
from vitviz.shifted_windows import relative_position_index

MOST_STEPS = 24
_view = register(__file__, "swin_bias", "swin_bias", "../../views/heat_grid")
KEY = "swin.attention"
GROUP = "swin"


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


def draw_bias() -> None:
    swin = subjects.load_current()
    page.untrained_note(swin.choice.trained_on)
    _draw_block(swin)
    page.drawers(
        "swin.bias",
        math=page.read_math(__file__, section="relative_position_bias"),
        code=(relative_position_index, WindowAttention.relative_position_bias),
    )


@st.fragment
def _draw_block(swin: subjects.Subject) -> None:
    stage, block = choose_block(abilities.as_swin(swin.model.config))
    window = block_window(swin.model.swin, stage, block)
    steps, tables = _load_tables_over_training(swin, stage, block)
    at = steps.index(swin.step) if swin.step in steps else len(steps) - 1
    _view(plots.bias(tables, window, steps, at), key="swin.bias")
    page.caption(captions.describe_bias(tables[at], window))


def _load_tables_over_training(
    swin: subjects.Subject, stage: int, block: int
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


def draw_map_controls(config: ModelConfig, names: list[str]) -> tuple[attention_maps.MapSelection, bool]:
    """Return the selected map, and whether low attention is dimmed; names of the blocks in order of depth."""
    heads = token_layout.heads_by_layer(config)
    with page.row():
        layer = widgets.select(
            "swin.layer",
            "Layer",
            list(range(1, len(heads) + 1)),
            format_func=lambda number: plots.block_title(names[number - 1]),
        )
        options: list[attention_message.Head] = [*range(1, heads[layer - 1] + 1), "mean"]
        head = widgets.select("swin.head", "Head", options, format_func=attention_maps.name_head)
        dim = widgets.toggle("swin.dim", "Dim", help="Darkens the image instead of colouring it.")
    return attention_maps.MapSelection(layer, head), dim


def draw() -> None:
    subject = subjects.capture_attention(subjects.load_current())
    page.untrained_note(subject.model.trained_on)
    pin = selection.get_current().pin
    map_selection, dim = draw_map_controls(subject.model.config, [name for name, _ in subject.windows])
    send_options(GROUP, str(pin), ExplorerOptions(style="dim" if dim else "overlay"))
    view = attention_maps.build_view(subject, map_selection, subject.ground(), GROUP)
    on_change = partial(selection.apply_click, KEY, layer="swin.layer", head="swin.head")
    draw_explorer(*view, key=KEY, on_change=on_change)
    page.caption(pinned_token_captions.describe_attention(subject, map_selection, pin))
    parameters: dict[str, Any] = {"attention.layer": map_selection.layer}
    selection.link_to("attention", "Open page: Attention", **parameters)
    page.drawers(
        "swin.attention",
        math=page.read_math(__file__, section="window_attention"),
        code=(WindowAttention.forward,),
    )
