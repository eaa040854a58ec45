"""One token in one block: every step of attention and MLP with its real numbers."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.block import norms, readout
from pages.lenses.block.block_view import draw_steps
from pages.lenses.block.captions import describe_branches, describe_parameters
from pages.selection import selection
from pages.selection import subject as subjects
from pages.selection.subject import Subject, name_token
from pages.views.bars import draw_bars
from pages.views.event_values import read_events, read_index, read_pin
from vitviz.analysis.block import list_block_steps
from vitviz.config import ViTConfig
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.models.abilities import as_vit
from vitviz.models.layers import Block
from vitviz.probe.block_record import Record, block_form, block_record, patterns_of

VIEW = "block.flow"


@dataclass(frozen=True)
class BlockControls(widgets.ControlValues, page="block"):
    """The selected block and head; both count from 1."""

    layer: int
    head: int


def read_controls(config: ViTConfig, token: str) -> BlockControls:
    """Draw the controls and a link to the attention of the same head, named by the token."""
    with page.row():
        with st.container(width=168):
            layer = widgets.slider(BlockControls.key("layer"), "Block", 1, config.depth, 1)
        with st.container(width=168):
            head = widgets.slider(BlockControls.key("head"), "Head", 1, config.num_heads, 1)
        params = {"attention.layer": layer, "attention.head": head}
        selection.link_to("attention", f"Token: {token}", **params)
    return BlockControls(layer, head)


def apply_click() -> None:
    """Pin the clicked key, or select the clicked channel for the norms."""
    events = read_events(VIEW)
    pinned, channel = read_pin(events.get("pin")), read_index(events.get("channel"))
    if pinned is not None:
        selection.set_pin(pinned)
    if channel is not None:
        norms.NormControls.change(channel=channel + 1)


def draw_block(subject: Subject, record: Record, controls: BlockControls, token: int) -> None:
    vit = subject.model.vit
    form = block_form(vit, controls.layer)
    steps = list_block_steps(record, token, controls.head - 1, form, partial(name_token, subject.layout))
    draw_steps(
        steps,
        subject,
        token=token,
        head=controls.head,
        heads=vit.config.num_heads,
        key=VIEW,
        on_change=apply_click,
    )
    page.caption(describe_branches(record, vit.config, controls.layer, controls.head, token))


def draw_parameters(config: ViTConfig) -> None:
    """Draw the share of attention, MLP and norms in the parameters of a block."""
    counts = parameter_count.block_parameters(config)
    total = sum(counts.values())
    st.markdown("Attention moves information between tokens; the MLP processes each token separately.")
    names = [f"{part[0].upper()}{part[1:]}: {count:,}" for part, count in counts.items()]
    draw_bars(names, np.array([*counts.values()]) / total, strong=1, key="block.parameters")
    page.caption(describe_parameters(counts, config.mlp_ratio))


@st.fragment
@page.show_file_errors()
def draw() -> None:
    """Draw the token's steps, the prediction after the last block, and the norms."""
    config = as_vit(selection.get_model_choice().config)
    subject = subjects.load_current()
    page.untrained_note(subject.model.trained_on)
    token = selection.get_current().pin.token(subject.layout)
    controls = read_controls(config, name_token(subject.layout, token))
    capture = subject.capture(patterns_of(controls.layer))
    record = block_record(subject.model.vit, capture, controls.layer)
    draw_block(subject, record, controls, token)
    if controls.layer == config.depth:
        readout.draw(subject, config, record)
    else:
        label = f"Show the last block ({config.depth}) and the prediction"
        st.button(
            label,
            icon=":material/last_page:",
            key="block.last",
            on_click=BlockControls.change,
            kwargs={"layer": config.depth},
        )
    draw_parameters(config)
    norms.draw(subject, config, record, token)
    page.drawers("block", math=page.read_math(__file__), code=(Block.forward,), asks=ASKS)


ASKS = (
    Question(
        "In the last block, which adds the longer vector to [CLS], attention or the MLP?",
        model_measures.LongerBranch(),
    ),
)

page.header("block")
draw()
