"""LayerNorm beside BatchNorm, and the norm of the residual stream over depth."""

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.lenses.block.captions import describe_norms, describe_stream
from pages.selection import selection
from pages.selection.subject import Subject
from pages.views.chart import draw_chart
from vitviz.analysis.block import measure_norm_statistics
from vitviz.config import ViTConfig
from vitviz.plots.normalisation import norm_figure, stream_figure
from vitviz.probe.layers import Record


def draw_norms(config: ViTConfig, record: Record, token: int) -> None:
    """Draw the tokens' channels with the row of LayerNorm and the column of BatchNorm."""
    st.markdown("**LayerNorm averages a row, BatchNorm a column**")
    channel = widgets.slider("block.channel", "Channel", 1, config.embed_dim, 1)
    # Pre-norm normalises the stream, post-norm the sum of stream and branch.
    stream = record["input"] + (record["attn_added"] if config.norm != "pre" else 0)
    draw_chart(norm_figure(stream, token, channel - 1, selection.get_theme()), "block.norms")
    stats = measure_norm_statistics(stream, token, channel - 1)
    page.caption(describe_norms(stats, (len(stream), config.embed_dim), channel))


def draw_stream(subject: Subject, config: ViTConfig, token: int) -> None:
    """Draw the norm of every token before the first block and after each."""
    pre_norm = config.norm == "pre"
    st.markdown(f"**{'Pre' if pre_norm else 'Post'}-norm: norm of the residual stream over depth**")
    names = ("embedded", *(f"blocks.{i}" for i in range(config.depth)))
    capture = subject.capture(names)
    norms = np.stack([np.linalg.norm(capture[name][0], axis=-1) for name in names])
    draw_chart(stream_figure(norms, token, selection.get_theme()), "block.stream")
    page.caption(describe_stream(norms, pre_norm))
