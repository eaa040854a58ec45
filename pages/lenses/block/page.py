"""One token in one block: every step of attention and MLP with its real numbers."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.block import captions
from pages.selection import selection
from pages.selection import subject as subjects
from pages.views.figures import draw_bars, draw_chart
from pages.views.register import register
from vitviz.analysis.block import BlockOperation, list_block_steps, measure_norm_statistics
from vitviz.analysis.readout import READS, list_readout_steps, predict_from_stream
from vitviz.config import ViTConfig
from vitviz.lessons import lesson, model_measures
from vitviz.models import abilities, layers, model_cost
from vitviz.plots.blob import pack
from vitviz.plots.normalisation import norm_figure, stream_figure
from vitviz.probe.layers import Record, block_form, block_record, patterns_of, write_call
from vitviz.probe.logits import readout_weights

MOST_CLASSES = 5
VIEW = "block.flow"
_block_view = register(__file__, "block_view")


def draw_steps(
    steps: Sequence[BlockOperation],
    subject: subjects.Subject,
    *,
    token: int,
    head: int,
    key: str,
    on_change: Callable[[], None] | None = None,
) -> None:
    """Draw a card per step; clicks trigger 'pin' (a key) and 'channel' (of the stream, from 1)."""
    header = {
        "prefix": subject.layout.prefix,
        "grid": subject.layout.grid,
        "token": token,
        "head": head,
        "heads": subject.model.vit.config.num_heads,
        "steps": steps,
    }
    arrays = {f"s{i}": step.values for i, step in enumerate(steps)}
    message = pack(header, picture=subject.prepared.shown, **arrays)
    _block_view(message, key=key, triggers=("pin", "channel"), on_change=on_change)


def draw_norms(config: ViTConfig, record: Record, token: int) -> None:
    """Draw the tokens' channels with the row of LayerNorm and the column of BatchNorm."""
    st.markdown("**LayerNorm averages a row, BatchNorm a column**")
    channel = widgets.slider("block.channel", "Channel", 1, config.embed_dim, 1)
    # Pre-norm normalises the stream, post-norm the sum of stream and branch.
    stream = record["input"] + (record["attn_added"] if config.norm != "pre" else 0)
    draw_chart(norm_figure(stream, token, channel - 1, selection.get_theme()), "block.norms")
    stats = measure_norm_statistics(stream, token, channel - 1)
    page.caption(captions.describe_norms(stats, (len(stream), config.embed_dim), channel))


def draw_stream(subject: subjects.Subject, config: ViTConfig, token: int) -> None:
    """Draw the norm of every token before the first block and after each."""
    pre_norm = config.norm == "pre"
    st.markdown(f"**Length of each token's vector over depth ({'pre' if pre_norm else 'post'}-norm)**")
    names = ("embedded", *(f"blocks.{i}" for i in range(config.depth)))
    capture = subject.capture(names)
    norms = np.stack([np.linalg.norm(capture[name][0], axis=-1) for name in names])
    draw_chart(stream_figure(norms, token, selection.get_theme()), "block.stream")
    page.caption(captions.describe_stream(norms, pre_norm))


def draw_readout(subject: subjects.Subject, config: ViTConfig, record: Record) -> None:
    st.subheader("After the last block: LayerNorm and classifier head", anchor=False)
    for ability in (subject.able.class_head, subject.able.logit_lens):
        if not ability:
            st.info(ability.why_not, icon=":material/block:")
            return
    weights, prefix = readout_weights(subject.model.vit), subject.layout.prefix
    answer = predict_from_stream(record["output"], weights, config.readout, prefix)
    readout = (
        "[CLS] and [DIST], with a head for each" if answer.second is not None else READS[config.readout][0]
    )
    draw_steps(
        list_readout_steps(answer, config.readout, subject.classes, normed=weights.gain is not None),
        subject,
        token=0,
        head=1,
        key="block.answer",
    )
    top = answer.order[:MOST_CLASSES]
    draw_bars([subject.classes[i] for i in top], answer.probabilities[top], key="block.classes")
    page.caption(captions.describe_readout(answer, readout, subject.classes), subject.class_note)


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


def draw_block(subject: subjects.Subject, record: Record, layer: int, head: int, token: int) -> None:
    vit = subject.model.vit
    name = partial(subjects.name_token, subject.layout)
    draw_steps(
        list_block_steps(record, token, head - 1, block_form(vit, layer), name),
        subject,
        token=token,
        head=head,
        key=VIEW,
        on_change=partial(selection.apply_click, VIEW, channel="block.channel"),
    )
    page.caption(captions.describe_branches(record, vit.config, layer, head, token))


def draw_parameters(config: ViTConfig) -> None:
    """Draw the share of attention, MLP and norms in the parameters of a block."""
    counts = model_cost.block_parameters(config)
    total = sum(counts.values())
    st.markdown("Attention moves information between tokens; the MLP processes each token separately.")
    names = [f"{part[0].upper()}{part[1:]}: {count:,}" for part, count in counts.items()]
    draw_bars(names, np.array([*counts.values()]) / total, strong=1, key="block.parameters")
    page.caption(captions.describe_parameters(counts, config.mlp_ratio))


@page.view
def draw() -> None:
    config = abilities.as_vit(selection.get_model_choice().config)
    subject = subjects.load_current()
    page.untrained_note(subject.model.trained_on)
    token = selection.get_current().pin.token(subject.layout)
    layer, head = read_controls(config, subjects.name_token(subject.layout, token))
    record = block_record(subject.model.vit, subject.capture(patterns_of(layer)), layer)
    draw_block(subject, record, layer, head, token)
    if layer == config.depth:
        draw_readout(subject, config, record)
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
        draw_norms(config, record, token)
    with right:
        draw_stream(subject, config, token)
    page.drawers(
        "block",
        math=page.read_math(__file__),
        code=(layers.Block.forward,),
        call=lambda: write_call(patterns_of(layer)[0]),
        ask=lesson.Question(
            "In the last block, which adds the longer vector to [CLS], attention or the MLP?",
            model_measures.LongerBranch(),
        ),
    )


page.header("block")
draw()
