"""Lens: one token through one head and one block, with its real numbers."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from pages.inside.block.block_view import block as draw_block
from pages.shell import controls, nouns, page, stand_in, subject
from pages.shell.subject import Subject, token_name
from vitviz.analysis import block as analysis
from vitviz.config import ViTConfig
from vitviz.models.layers import Block, LayerScale
from vitviz.plots.block import norm_figure, stream_figure
from vitviz.probe.capture import as_array
from vitviz.words import signed

KEY = "block.flow"
PARTS = (
    *("input", "norm1", "q", "k", "v", "scores", "attn", "heads"),
    *("attn_out", "mid", "norm2", "mlp_hidden", "mlp_out"),
)


def record_of(now: Subject, layer: int) -> dict[str, np.ndarray]:
    """One block's intermediates of the picture, by short name; layer counts from 1."""
    name = f"blocks.{layer - 1}"
    found = now.capture((f"{name}.*", name))
    record = {part: found[f"{name}.{part}"][0] for part in PARTS} | {"output": found[name][0]}
    block = now.model.model.blocks[layer - 1]
    gains = (as_array(ls.gamma) if isinstance(ls, LayerScale) else 1.0 for ls in (block.ls1, block.ls2))
    return analysis.with_added(record, *gains)


def form_of(config: ViTConfig, scale: float) -> analysis.BlockForm:
    """What a block of a model does; `scale` is its attention's."""
    return analysis.BlockForm(
        scale=scale,
        pre_norm=config.norm == "pre",
        qkv_bias=config.qkv_bias,
        slices=config.head_input != "all",
        projects=config.output_projection,
        layer_scale=config.layer_scale is not None,
    )


def on_pick() -> None:
    """A click on a key pins it; one on a channel chooses it for the norms."""
    events = st.session_state.get(KEY) or {}
    if events.get("pin"):
        nouns.set_pin(str(events["pin"]))
    if events.get("channel") is not None:
        controls.set_value("block.channel", int(events["channel"]) + 1)


def choose(config: ViTConfig) -> tuple[int, int]:
    """Layer and head, both from 1."""
    left, right, rest = st.columns([4, 4, 4], vertical_alignment="bottom")
    with left:
        layer = controls.slider("block.layer", "Block", 1, config.depth, 1)
    with right:
        head = controls.slider("block.head", "Head", 1, config.num_heads, 1)
    with rest:
        nouns.link_to("attention", "Choose the token", **{"attention.layer": layer, "attention.head": head})
    return layer, head


def describe(now: Subject, steps: list[analysis.Step], layer: int, head: int, token: int) -> str:
    """How far each branch moves the token, from the norms."""
    record = record_of(now, layer)
    x, attention, mlp = (np.linalg.norm(record[part][token]) for part in ("input", "attn_added", "mlp_added"))
    stronger = "attention" if attention > mlp else "the MLP"
    ratio = max(attention, mlp) / max(min(attention, mlp), 1e-12)
    name, width = token_name(now.layout, token), now.model.config.embed_dim // now.model.config.num_heads
    return (
        f"{name[0].upper()}{name[1:]} enters block {layer} with length {x:.1f}; attention adds a vector of length"
        f" {attention:.1f}, the MLP one of {mlp:.1f}: in this block {stronger} moves it {ratio:.1f} times as far. Head"
        f" {head} is one of {now.model.config.num_heads}, and writes {width} of the {now.model.config.embed_dim} values"
        f" that are {'projected' if now.model.config.output_projection else 'added'}."
    )


def norms(now: Subject, config: ViTConfig, layer: int, token: int) -> None:
    """What LayerNorm averages over, what BatchNorm would, and how the stream grows with depth."""
    record = record_of(now, layer)
    # Pre-norm reads the stream, post-norm the sum of stream and branch.
    read = record["input"] + (record["attn_added"] if config.norm != "pre" else 0)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**LayerNorm averages a row, BatchNorm a column**")
        channel = controls.slider("block.channel", "Channel", 1, config.embed_dim, 1)
        st.plotly_chart(
            norm_figure(read, token, channel - 1, nouns.mode()),
            theme=None,
            config={"displayModeBar": False},
            key="block.norms",
        )
        found = analysis.norm_numbers(read, token, channel - 1)
        page.caption(
            f"LayerNorm reads this token's {config.embed_dim} channels: mean {signed(found.token_mean, 3)}, deviation"
            f" {found.token_std:.3f}. BatchNorm would read channel {channel} of all {len(record['input'])} tokens, and"
            f" of every picture in the batch: here {signed(found.channel_mean, 3)} and {found.channel_std:.3f}. So"
            " LayerNorm does not depend on the other pictures, and is the same in training and afterwards."
        )
    with right:
        st.markdown(
            f"**{'Pre' if config.norm == 'pre' else 'Post'}-norm: the length of the stream over depth**"
        )
        names = ("embedded", *(f"blocks.{i}" for i in range(config.depth)))
        capture = now.capture(names)
        lengths = np.stack([np.linalg.norm(capture[name][0], axis=-1) for name in names])
        st.plotly_chart(
            stream_figure(lengths, token, nouns.mode()),
            theme=None,
            config={"displayModeBar": False},
            key="block.stream",
        )
        page.caption(
            f"{lengths[0].mean():.1f} before the first block, {lengths[-1].mean():.1f} after the last, on average."
            + (
                " Pre-norm leaves the stream itself alone: branches add to it, and gradients pass straight through."
                if config.norm == "pre"
                else " Post-norm normalises the stream itself after every sum, so its length is set anew by γ and β."
            )
        )


@st.fragment
def draw() -> None:
    """Controls, the token's way, its caption, and the norms."""
    now = subject.current()
    config = now.model.config
    if not isinstance(config, ViTConfig):
        stand_in.offer("This page follows a token through a block of a ViT.", "block.instead")
        return
    page.untrained_note(now.model.trained_on)
    layer, head = choose(config)
    token = nouns.current().pin.token(now.layout)
    st.markdown(
        f"The token is **{token_name(now.layout, token)}**; a click on a key in a map takes that one instead."
    )
    steps = analysis.steps_of_block(
        record_of(now, layer),
        token,
        head - 1,
        form_of(config, now.model.model.blocks[layer - 1].attn.scale),
        partial(token_name, now.layout),
    )
    draw_block(
        steps, now.prepared.shown, now.layout, token, head, config.num_heads, key=KEY, on_change=on_pick
    )
    page.caption(describe(now, steps, layer, head, token))
    norms(now, config, layer, token)
    page.drawers("block", math=MATHEMATICS, code=(Block.forward,), try_this=TRY_THIS)


MATHEMATICS = r"""
**Pre-norm** (ViT paper, eq. 2, 3): $z' = \mathrm{MSA}(\mathrm{LN}(z)) + z$, $z = \mathrm{MLP}(\mathrm{LN}(z')) + z'$.
**Post-norm** (Vaswani et al. 2017): $z' = \mathrm{LN}(\mathrm{MSA}(z) + z)$, $z = \mathrm{LN}(\mathrm{MLP}(z') + z')$.

$$\mathrm{head}_h = \mathrm{softmax}\Bigl(\frac{Q_h K_h^\top}{\sqrt{d}}\Bigr) V_h,\qquad
\mathrm{MSA}(z) = W_o\,[\mathrm{head}_1;\dots;\mathrm{head}_H] + b_o$$

**Why** $\sqrt d$: if the entries of $q$ and $k$ are independent with variance 1, $q\cdot k$ has variance $d$. Without
the division the softmax gets scores of size $\sqrt d$, puts nearly all weight on one key, and its gradient vanishes.

**LayerNorm** (Ba et al. 2016) takes mean and variance over a token's channels; **BatchNorm** (Ioffe and Szegedy 2015)
takes them over the batch and all positions, channel by channel.
"""
TRY_THIS = """
- Predict first: which is longer in the last block, what attention adds or what the MLP adds?
- Compare the two softmax maps: at which step of training does the scale begin to matter?
- Pin [CLS] and walk through the blocks: from which block on does it look at single patches?
"""

page.header("Inside one block", "What happens to one token in one block?")
draw()
