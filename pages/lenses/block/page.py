"""One token in one block: every step of attention and MLP with its real numbers."""

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
from vitviz.analysis.block import list_block_steps
from vitviz.config import ViTConfig
from vitviz.lessons import model_measures
from vitviz.lessons.lesson import Question
from vitviz.models import parameter_count
from vitviz.models.abilities import as_vit
from vitviz.models.layers import Block
from vitviz.probe.layers import Record, block_form, block_record, patterns_of

VIEW = "block.flow"


def read_controls(config: ViTConfig, token: str) -> tuple[int, int]:
    """Draw block and head, and a link to the attention of that head named by the token; return both, from 1."""
    with page.row():
        with st.container(width=168):
            layer = widgets.slider("block.layer", "Block", 1, config.depth, 1)
        with st.container(width=168):
            head = widgets.slider("block.head", "Head", 1, config.num_heads, 1)
        params = {"attention.layer": layer, "attention.head": head}
        selection.link_to("attention", f"Token: {token.removeprefix('the ')}", **params)
    return layer, head


def draw_block(subject: Subject, record: Record, layer: int, head: int, token: int) -> None:
    vit = subject.model.vit
    name = partial(name_token, subject.layout)
    draw_steps(
        list_block_steps(record, token, head - 1, block_form(vit, layer), name),
        subject,
        token=token,
        head=head,
        heads=vit.config.num_heads,
        key=VIEW,
        on_change=partial(selection.apply_click, VIEW, channel="block.channel"),
    )
    page.caption(describe_branches(record, vit.config, layer, head, token))


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
    config = as_vit(selection.get_model_choice().config)
    subject = subjects.load_current()
    page.untrained_note(subject.model.trained_on)
    token = selection.get_current().pin.token(subject.layout)
    layer, head = read_controls(config, name_token(subject.layout, token))
    record = block_record(subject.model.vit, subject.capture(patterns_of(layer)), layer)
    draw_block(subject, record, layer, head, token)
    if layer == config.depth:
        readout.draw(subject, config, record)
    else:
        st.button(
            f"Show the last block ({config.depth}) and the prediction",
            icon=":material/last_page:",
            key="block.last",
            on_click=widgets.set_control,
            args=("block.layer", config.depth),
        )
    draw_parameters(config)
    left, right = st.columns(2, gap="medium")
    with left:
        norms.draw_norms(config, record, token)
    with right:
        norms.draw_stream(subject, config, token)
    page.drawers(
        "block",
        math=page.read_math(__file__),
        code=(Block.forward,),
        ask=Question(
            "In the last block, which adds the longer vector to [CLS], attention or the MLP?",
            model_measures.LongerBranch(),
        ),
    )


page.header("block")
draw()
