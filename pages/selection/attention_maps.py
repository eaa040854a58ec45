"""What an attention explorer draws of a subject, for every lens that shows one: a ViT's heads or a Swin's windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pages.selection.subject import Subject, token_name
from vitviz.analysis.attention import (
    FloatArray,
    entropy_bits,
    fuse_heads,
    map_of_token,
    map_onto_token,
    scaled,
)
from vitviz.models.abilities import as_swin
from vitviz.models.layer_order import layout_of_layer, stage_of
from vitviz.models.layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots.attention import Head, Scene, Strip, explorer_view, windows_strip, windows_view
from vitviz.plots.photo import Photo
from vitviz.text import percent

Direction = Literal["row", "column"]
STRONGEST = 5  # patches whose weights are said together
MASKED = 1e-20  # less than any real weight; Swin's mask of -100 leaves some e^-100 = 4e-44 of one


@dataclass(frozen=True)
class Gaze:
    """Whose attention is drawn: layer and head, both from 1 (or heads fused), and what of the matrix."""

    layer: int
    head: Head
    direction: Direction = "row"  # a query's row: where it looks; a key's column: who looks at it

    @property
    def name(self) -> str:
        """'Layer 3, head 2'."""
        return f"Layer {self.layer}, {head_name(self.head).lower()}"


def head_name(head: Head) -> str:
    """'Head 3', or 'Mean of heads'."""
    return f"Head {head}" if isinstance(head, int) else f"{head.capitalize()} of heads"


def layout_at(subject: Subject, layer: int) -> TokenLayout:
    """The tokens of a layer."""
    return layout_of_layer(subject.model.config, subject.layout, layer)


def weights(subject: Subject, gaze: Gaze, pin: Pin) -> FloatArray:
    """(heads, tokens): the pinned token's row or column in every head of a layer."""
    token = pin.token(layout_at(subject, gaze.layer))
    row = gaze.direction == "row"
    if subject.able.windows:
        rows = subject.windows[gaze.layer - 1][1]
        return map_of_token(rows, token) if row else map_onto_token(rows, token)
    heads = subject.attn[gaze.layer - 1]
    return np.asarray(heads[:, token] if row else heads[:, :, token])


def of_head(lines: FloatArray, head: Head) -> FloatArray:
    """(heads, tokens) -> (tokens,): one head's line, or all of them fused."""
    return np.asarray(lines[head - 1] if isinstance(head, int) else fuse_heads(lines[:, None], head)[0])


def view_of(subject: Subject, gaze: Gaze, ground: Photo, group: str) -> tuple[bytes, Strip]:
    """What the browser draws from: the layer, and the head in all layers (of a Swin in all of its stage)."""
    if subject.able.windows:
        return _windows_view(subject, gaze, ground, group)
    layout, layers = subject.layout, range(1, len(subject.attn) + 1)
    scene = Scene(
        group=group,
        title=subject.model.title,
        grid=layout.grid,
        prefix=layout.prefix,
        patch_px=layout.patch_px,
        layer=gaze.layer,
        layer_name=str(gaze.layer),
        head=gaze.head,
        heads=subject.attn.shape[1],
        scores=scaled("q·k", subject.model.vit.block(gaze.layer - 1).attn.scale),
        strip_layers=tuple(layers),
        strip_names=tuple(f"layer {i}" for i in layers),
    )
    strip = subject.strip(gaze.head)
    return explorer_view(scene, ground, subject.layer(gaze.layer), strip), strip


def _windows_view(subject: Subject, gaze: Gaze, ground: Photo, group: str) -> tuple[bytes, Strip]:
    config = as_swin(subject.model.config)
    place = stage_of(config, gaze.layer)
    layers = range(place.before + 1, place.before + config.depths[place.stage] + 1)
    blocks = [rows for _, rows in subject.windows[layers.start - 1 : layers.stop - 1]]
    layout = layout_at(subject, gaze.layer)
    module = subject.model.swin.block(place.stage, place.block)
    masked = module.plan(layout.grid).mask is not None
    scene = Scene(
        group=group,
        title=subject.model.title,
        grid=layout.grid,
        prefix=(),
        patch_px=layout.patch_px,
        layer=gaze.layer,
        layer_name=f"{gaze.layer} (stage {place.stage + 1}, block {place.block + 1})",
        head=gaze.head,
        heads=config.num_heads[place.stage],
        scores=f"{scaled('q·k', module.attn.scale)} + B{' + mask' * masked}",
        strip_layers=tuple(layers),
        strip_names=tuple(f"layer {i}" for i in layers),
        windowed=True,
    )
    strip = windows_strip(blocks, gaze.head)
    return windows_view(scene, ground, blocks[place.block], strip), strip


def describe(subject: Subject, gaze: Gaze, pin: Pin) -> str:
    """The caption of the pinned token, from its own weights."""
    layout = layout_at(subject, gaze.layer)
    token = pin.token(layout)
    lines = weights(subject, gaze, pin)
    where = f"{gaze.name}: {token_name(layout, token)}"
    if subject.able.windows:
        place = stage_of(as_swin(subject.model.config), gaze.layer)
        masked = subject.model.swin.block(place.stage, place.block).plan(layout.grid).mask is not None
        return f"{where} {_of_window(lines, gaze, layout, masked)}"
    if gaze.direction == "column":
        line = of_head(lines, gaze.head)
        best = int(line.argmax())
        return (
            f"{where} is looked at most by {token_name(layout, best)} ({line[best]:.3f}); all looks at it sum to"
            f" {line.sum():.2f}, where an even model gives every token 1."
        )
    return f"{where} {_of_row(lines, gaze.head, layout)}"


def _of_row(lines: FloatArray, head: Head, layout: TokenLayout) -> str:
    first = layout.num_prefix_tokens
    line = of_head(lines, head)
    line = line / max(float(line.sum()), 1e-12)  # the greatest weights of several heads sum to more than 1
    patches = layout.num_patches
    strongest = percent(float(np.sort(line[first:])[-STRONGEST:].sum()), 0)
    text = f"puts {strongest} of its attention on {_strongest(patches)}"
    if first:
        names = " and ".join(f"[{name.upper()}]" for name in layout.prefix)
        text += f" and {percent(float(line[:first].sum()), 0)} on {names}"
    text += f"; an even look would give each token {percent(1 / layout.num_tokens)}."
    if patches == 1:
        return text
    tops = {int(row[first:].argmax()) for row in lines}
    if len(lines) == 1:
        return f"{text} This layer has one head."
    if len(tops) == 1:
        return f"{text} All {len(lines)} heads of this layer agree on the strongest patch."
    return (
        f"{text} The {len(lines)} heads of this layer name {len(tops)} different patches as their strongest."
    )


def _strongest(patches: int) -> str:
    if patches > STRONGEST:
        return "its five strongest patches"
    return "its only patch" if patches == 1 else f"the {patches} patches"


def _of_window(lines: FloatArray, gaze: Gaze, layout: TokenLayout, masked: bool) -> str:
    rows, cols = layout.grid
    count = int((lines.max(axis=0) > MASKED).sum())
    reach = f"{count:,} of the {rows} × {cols} tokens, those of its window{' that the mask lets in' * masked}"
    if gaze.direction == "column":
        return f"can be seen by {reach}."
    line = of_head(lines, gaze.head)
    line = line / max(float(line.sum()), 1e-12)
    return (
        f"may look at {reach}, and looks at about {2 ** float(entropy_bits(line)):.1f} of"
        " them; a token outside is out of reach in this layer."
    )
