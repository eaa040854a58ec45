"""The explorer itself: hover is the query, click pins it; the picture never asks the server for a hover."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from pages.inside.attention import export, predictions
from pages.shell import controls, nouns, page
from pages.shell.subject import Subject, token_name
from pages.views.explorer import explorer, picked, view_options
from vitviz.analysis.attention import FloatArray, entropy_bits, fuse_heads, map_of_token
from vitviz.config import SwinConfig
from vitviz.models.layers import Attention
from vitviz.models.swin import WindowAttention
from vitviz.plots.attention import Head, Scene, Strip, explorer_view, windows_strip, windows_view
from vitviz.words import percent

FUSIONS = ("mean", "max", "min")
MASKED = 1e-20  # less than any real weight; Swin's mask of -100 leaves some e^-100 = 4e-44 of one
DIRECTIONS = {"row": "looks at", "column": "is seen by"}
STYLES = {"overlay": "Overlay", "heat": "Heat", "dim": "Dim", "mask": "Mask"}
KEY = "attention.explorer"


def layers_of(subject: Subject) -> list[int]:
    """Heads of every layer in order of depth; Swin's stages differ."""
    config = subject.model.config
    if isinstance(config, SwinConfig):
        return [
            heads for heads, depth in zip(config.num_heads, config.depths, strict=True) for _ in range(depth)
        ]
    return [config.num_heads] * config.depth


def head_name(head: Head) -> str:
    """'Head 3', or 'Mean of heads'."""
    return f"Head {head}" if isinstance(head, int) else f"{head.capitalize()} of heads"


def choose_layer_and_head(subject: Subject) -> tuple[int, Head]:
    """The two controls that say which maps travel; both count from 1."""
    heads = layers_of(subject)
    with st.container(width=168):
        layer = controls.slider("attention.layer", "Layer", 1, len(heads), len(heads))
    with st.container(width=168):
        head = controls.select(
            "attention.head",
            "Head",
            [*range(1, heads[layer - 1] + 1), *FUSIONS],
            format_func=head_name,
            help="One head, or all heads of the layer fused by their mean, maximum or minimum.",
        )
    return layer, head


def choose_view(group: str) -> str:
    """How it is drawn; the browser redraws at once, no weight travels. Returns the direction."""
    with st.container(width="content"):
        direction = controls.segmented(
            "attention.direction",
            "The query",
            list(DIRECTIONS),
            format_func=DIRECTIONS.__getitem__,
            help="A row of the attention matrix: where the query looks. A column: who looks at it.",
        )
    with st.container(width="content"):
        style = controls.segmented(
            "attention.style",
            "Drawn as",
            list(STYLES),
            format_func=STYLES.__getitem__,
            help="Overlay: weights over the greyed picture. Heat: weights alone. Dim: what is not looked at goes dark."
            " Mask: the fewest patches that hold a share of the mass, as DINO shows them.",
        )
    beside = st.container(gap=None, width="content")
    beside.space(28)  # the height of a label, which a popover does not have
    with beside.popover("Display", width="content"):
        scale = controls.segmented(
            "attention.scale",
            "Scale of the small maps",
            ["shared", "map"],
            format_func={"shared": "One for all", "map": "Each its own"}.__getitem__,
        )
        share = controls.slider(
            "attention.share",
            "Mask keeps this share of the mass",
            0.1,
            0.95,
            0.6,
            0.05,
            disabled=style != "mask",
        )
        opacity = controls.slider("attention.opacity", "Opacity", 0.1, 1.0, 0.9, 0.05)
        smooth = controls.toggle(
            "attention.smooth",
            "Smooth between patches",
            help="The model has one weight per patch; smooth edges are drawn, not computed.",
        )
        grid = controls.toggle("attention.grid", "Patch grid", True)
    view_options(
        group=group,
        pin=str(nouns.current().pin),
        direction=direction,
        scale=scale,
        style=style,
        share=share,
        opacity=opacity,
        smooth=smooth,
        grid=grid,
    )
    return direction


def view_of(subject: Subject, layer: int, head: Head, group: str = "attention") -> tuple[bytes, Strip]:
    """What the browser draws from, for a ViT or a Swin: the layer, and the head in all layers."""
    if isinstance(subject.model.config, SwinConfig):
        return _swin_view(subject, layer, head, group)
    layout, attn = subject.layout, subject.attn
    scene = Scene(
        group=group,
        title=subject.model.title,
        grid=layout.grid,
        prefix=layout.prefix,
        patch_px=layout.patch_px,
        layer=layer,
        layer_name=str(layer),
        head=head,
        heads=attn.shape[1],
        scores=scores_of(subject.model.model.blocks[layer - 1].attn.scale),
        strip_layers=tuple(range(1, len(attn) + 1)),
        strip_names=tuple(f"layer {i}" for i in range(1, len(attn) + 1)),
    )
    strip = subject.strip(head)
    return explorer_view(scene, subject.prepared.shown, subject.layer(layer), strip), strip


def _stage(config: SwinConfig, layer: int) -> tuple[int, int, int]:
    """(stage, block in it, layers before the stage) of a layer that counts from 1."""
    before = 0
    for stage, depth in enumerate(config.depths):
        if layer <= before + depth:
            return stage, layer - before - 1, before
        before += depth
    raise ValueError(f"layer must lie in 1..{before}, received {layer}")


def stage_grid(subject: Subject, layer: int) -> tuple[int, int]:
    """(rows, cols) of a Swin layer's tokens."""
    stage, _, _ = _stage(subject.model.config, layer)
    rows, cols = subject.layout.grid
    for _ in range(stage):
        rows, cols = -(-rows // 2), -(-cols // 2)
    return rows, cols


def _swin_view(subject: Subject, layer: int, head: Head, group: str) -> tuple[bytes, Strip]:
    config = subject.model.config
    stage, block, before = _stage(config, layer)
    depth, heads = config.depths[stage], config.num_heads[stage]
    blocks = [rows for _, rows in subject.windows[before : before + depth]]
    grid = stage_grid(subject, layer)
    module = subject.model.model.layers[stage].blocks[block]
    masked = module.plan(grid).mask is not None
    scene = Scene(
        group=group,
        title=subject.model.title,
        grid=grid,
        prefix=(),
        patch_px=config.patch_size * 2**stage,
        layer=layer,
        layer_name=f"{layer} (stage {stage + 1}, block {block + 1})",
        head=head,
        heads=heads,
        scores=f"{scores_of(module.attn.scale)} + B{' + mask' * masked}",
        strip_layers=tuple(range(before + 1, before + depth + 1)),
        strip_names=tuple(f"layer {i}" for i in range(before + 1, before + depth + 1)),
        windowed=True,
    )
    strip = windows_strip(blocks, head)
    return windows_view(scene, subject.prepared.shown, blocks[block], strip), strip


def scores_of(scale: float) -> str:
    """What a softmax reads whose products are multiplied by `scale`, in symbols: 'q·k / √32'."""
    return "q·k" if scale == 1 else f"q·k / √{round(scale**-2)}"


def on_pick(key: str = KEY) -> None:
    """What a click in the browser changes: pin, layer or head."""
    events = picked(key)
    if "pin" in events:
        nouns.set_pin(str(events["pin"]))
    if "layer" in events:
        controls.set_value("attention.layer", int(events["layer"]))
    if "head" in events:
        controls.set_value("attention.head", int(events["head"]))


def describe(subject: Subject, layer: int, head: Head, direction: str) -> str:
    """The caption of the pinned query, from its own weights."""
    if isinstance(subject.model.config, SwinConfig):
        return _describe_window(subject, layer, head, direction)
    layout = subject.layout
    token = nouns.current().pin.token(layout)
    heads = subject.attn[layer - 1]
    chosen = heads[head - 1] if isinstance(head, int) else fuse_heads(heads, head)
    first = layout.num_prefix_tokens
    line = chosen[token] if direction == "row" else chosen[:, token]
    name = token_name(layout, token)
    where = f"Layer {layer}, {head_name(head).lower()}: {name}"
    if direction == "column":
        best = int(line.argmax())
        return (
            f"{where} is looked at most by {token_name(layout, best)} ({line[best]:.3f}); all looks at it sum to"
            f" {line.sum():.2f}, where an even model gives every token 1."
        )
    tops = {int(row[token, first:].argmax()) for row in heads}
    line = line / max(float(line.sum()), 1e-12)  # the greatest weights of several heads sum to more than 1
    strongest = percent(np.sort(line[first:])[-5:].sum(), 0)
    text = f"{where} puts {strongest} of its attention on its five strongest patches"
    if first:
        text += f" and {percent(line[:first].sum(), 0)} on {' and '.join(f'[{n.upper()}]' for n in layout.prefix)}"
    agree = (
        f"All {len(heads)} heads of this layer agree on the strongest patch."
        if len(tops) == 1
        else f"The {len(heads)} heads of this layer name {len(tops)} different patches as their strongest."
    )
    return f"{text}; an even look would give each token {percent(1 / layout.num_tokens)}. {agree}"


def _describe_window(subject: Subject, layer: int, head: Head, direction: str) -> str:
    rows = subject.windows[layer - 1][1]
    grid = stage_grid(subject, layer)
    layout = type(subject.layout)((), grid, subject.layout.patch_px)
    token = nouns.current().pin.token(layout)
    maps = map_of_token(rows, token)
    chosen: FloatArray = maps[head - 1] if isinstance(head, int) else getattr(maps, head)(axis=0)
    name = token_name(layout, token)
    if direction == "column":
        return (
            f"Layer {layer}, {head_name(head).lower()}: {name} can be seen by"
            f" {int((maps.max(axis=0) > MASKED).sum())} of the {grid[0]} × {grid[1]} tokens, those of its window."
        )
    return (
        f"Layer {layer}, {head_name(head).lower()}: {name} may look at"
        f" {int((maps.max(axis=0) > MASKED).sum())} of the {grid[0]} × {grid[1]} tokens, those of"
        f" its window, and looks at about {2 ** float(entropy_bits(chosen / max(chosen.sum(), 1e-12))):.1f} of them; a"
        " token outside is out of reach in this layer."
    )


def draw(subject: Subject) -> None:
    """Controls, stage and inspector, caption, prediction."""
    with st.container(horizontal=True, vertical_alignment="top", gap="small"):
        layer, head = choose_layer_and_head(subject)
        direction = choose_view("attention")
    explorer(*view_of(subject, layer, head), key=KEY, on_change=on_pick)
    smoothed = (
        " Smoothed between patches, which have one weight each."
        if st.session_state["attention.smooth"]
        else ""
    )
    page.caption(describe(subject, layer, head, direction) + smoothed)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        predictions.draw(subject)
    with right:
        st.markdown("**Go on**")
        inside = (
            {"block.layer": layer, "block.head": head} if isinstance(head, int) else {"block.layer": layer}
        )
        nouns.link_to("block", "Follow this token through the block", **inside)
        nouns.link_to("attention_distance", "How far does every head look?")
        nouns.link_to("swin", "How Swin's windows work")
    page.drawers(
        "attention.look",
        math=MATHEMATICS,
        code=(_forward(subject),),
        numbers=lambda: export.draw(subject, look_now(layer, head, direction)),
        try_this=TRY_THIS,
    )


def look_now(layer: int, head: Head, direction: str) -> export.Look:
    """The controls of this run, for what is made after it."""
    said = st.session_state
    return export.Look(
        layer=layer,
        head=head,
        direction=direction,
        pin=nouns.current().pin,
        style=said["attention.style"],
        share=said["attention.share"],
        opacity=said["attention.opacity"],
        smooth=said["attention.smooth"],
        shared_scale=said["attention.scale"] == "shared",
        mode=nouns.mode(),
    )


def _forward(subject: Subject) -> Callable[..., object]:
    return WindowAttention.forward if isinstance(subject.model.config, SwinConfig) else Attention.forward


MATHEMATICS = r"""
$$A^{(l,h)} = \mathrm{softmax}\Bigl(\frac{Q_h K_h^\top}{\sqrt{d}}\Bigr),\qquad \sum_k A_{q,k} = 1$$

The picture shows one row of this matrix, $A_{q,\cdot}$: how the query $q$ shares itself out over all keys (*looks at*),
or one column, $A_{\cdot,k}$: how much every token takes from this one (*is seen by*). Columns need not sum to 1.
Heads are fused by their mean, maximum or minimum, key by key; only the mean keeps rows that sum to 1.

The mask keeps the fewest patches that hold the chosen share of the patches' mass (Caron et al. 2021). *Looks at about
n tokens* is $2^{H}$ with the row's entropy $H$ in bits. Weights travel in eight bits,
$\mathrm{round}(255\sqrt{a/a_{\max}})$ per row: what is written is exact to $a_{\max}/254$. A layer's attention moves
values between the tokens of that layer; after the first layer, a token is no longer its patch alone.
"""
TRY_THIS = """
- Predict first: where will [CLS] look in the last layer? Then hover its button.
- Which head of the first layer depends on position only? Move the pointer and watch whose pattern moves along.
- Choose *is seen by*: is there a patch that everybody looks at? Drag the step back: when did it become one?
"""
