"""What LayerNorm averages over, what BatchNorm would, and how the stream grows with depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.selection.subject import Subject
from vitviz.analysis.block import norm_numbers
from vitviz.config import ViTConfig
from vitviz.plots.block import norm_figure, stream_figure
from vitviz.probe.block_record import Record
from vitviz.text import signed


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="block"):
    """Which channel BatchNorm would average; from 1."""

    channel: int


def draw(now: Subject, config: ViTConfig, record: Record, token: int) -> None:
    """Two pictures side by side."""
    left, right = st.columns(2, gap="medium")
    with left:
        draw_averages(config, record, token)
    with right:
        draw_stream(now, config, token)


def draw_averages(config: ViTConfig, record: Record, token: int) -> None:
    """The token's channels, and one channel of all tokens."""
    st.markdown("**LayerNorm averages a row, BatchNorm a column**")
    chosen = Choice(widgets.slider(Choice.key("channel"), "Channel", 1, config.embed_dim, 1))
    # Pre-norm reads the stream, post-norm the sum of stream and branch.
    read = record["input"] + (record["attn_added"] if config.norm != "pre" else 0)
    page.figure(norm_figure(read, token, chosen.channel - 1, selection.mode()), "block.norms")
    found = norm_numbers(read, token, chosen.channel - 1)
    page.caption(
        f"LayerNorm reads this token's {config.embed_dim} channels: mean {signed(found.token_mean, 3)}, deviation"
        f" {found.token_std:.3f}. BatchNorm would read channel {chosen.channel} of all {len(read)} tokens, and"
        f" of every picture in the batch: here {signed(found.channel_mean, 3)} and {found.channel_std:.3f}. So"
        " LayerNorm does not depend on the other pictures, and is the same in training and afterwards."
    )


def draw_stream(now: Subject, config: ViTConfig, token: int) -> None:
    """The length of every token before the first block and after each."""
    pre_norm = config.norm == "pre"
    st.markdown(f"**{'Pre' if pre_norm else 'Post'}-norm: the length of the stream over depth**")
    lengths = lengths_of_stream(now, config.depth)
    page.figure(stream_figure(lengths, token, selection.mode()), "block.stream")
    page.caption(
        f"{lengths[0].mean():.1f} before the first block, {lengths[-1].mean():.1f} after the last, on average."
        + (
            " Pre-norm leaves the stream itself alone: branches add to it, and gradients pass straight through."
            if pre_norm
            else " Post-norm normalises the stream itself after every sum, so its length is set anew by γ and β."
        )
    )


def lengths_of_stream(now: Subject, depth: int) -> NDArray[np.floating[Any]]:
    """(depth + 1, tokens): norms of the stream's vectors."""
    names = ("embedded", *(f"blocks.{i}" for i in range(depth)))
    found = now.capture(names)
    return np.stack([np.linalg.norm(found[name][0], axis=-1) for name in names])
