"""What a visitor takes along: the view and the sheet of heads as PNG, the numbers, an animation.

A download is made when it is asked for, after the script has run and outside of it: everything that it needs stands in
a `Shot`, and nothing here reads the session.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention.map_controls import Look
from pages.selection import selection
from pages.selection.attention_maps import Gaze, layout_at, of_head, weights
from pages.selection.subject import Subject
from pages.stores import cached
from vitviz.analysis.attention import FloatArray
from vitviz.data.preparation import CROP_PX
from vitviz.models.layer_order import heads_by_layer
from vitviz.pin import Pin
from vitviz.plots.attention_images import Drawn, attention_image, png, sheet, webp
from vitviz.plots.photo import Photo

FRAME_PX = 560
TILE_PX = 280
STEP_MS = 400
SIZE = (
    f"The view has the size of the original crop, at most {CROP_PX} × {CROP_PX} px, and is the crop itself wherever"
    " an overlay's weight is 0; a picture below 128 px is kept larger by a whole number."
)


@dataclass(frozen=True, eq=False)
class Shot:
    """What is looked at and how, when the page was drawn."""

    gaze: Gaze
    pin: Pin
    drawn: Drawn
    shared_scale: bool
    ground: Photo

    @classmethod
    def now(cls, subject: Subject, look: Look) -> Shot:
        """Of this run."""
        return cls(
            look.gaze,
            selection.current().pin,
            look.drawn(),
            look.scale == "shared",
            subject.ground(look.ground.seen),
        )


def _image(
    subject: Subject, shot: Shot, line: FloatArray, size_px: int | None, top: float | None = None
) -> np.ndarray:
    layout = layout_at(subject, shot.gaze.layer)
    patch = shot.pin.token(layout) - layout.num_prefix_tokens
    return attention_image(
        shot.ground.pixels,
        line[layout.num_prefix_tokens :],
        layout.grid,
        shot.drawn,
        size_px=size_px,
        top=top,
        query=divmod(patch, layout.grid[1]) if patch >= 0 else None,
    )


def _stage(subject: Subject, shot: Shot, size_px: int | None) -> np.ndarray:
    return _image(subject, shot, of_head(weights(subject, shot.gaze, shot.pin), shot.gaze.head), size_px)


def view_png(subject: Subject, shot: Shot) -> bytes:
    """The stage at the size of what it is drawn on."""
    return png(_stage(subject, shot, None))


def _frame(subject: Subject, shot: Shot, label: str) -> np.ndarray:
    return sheet([_stage(subject, shot, FRAME_PX)], [label], 1, shot.drawn.mode)


def layers_webp(subject: Subject, shot: Shot) -> bytes:
    """The chosen head through the layers; of a Swin through all of its stages."""
    frames = []
    for layer, heads in enumerate(heads_by_layer(subject.model.config), start=1):
        head = shot.gaze.head
        own = min(head, heads) if isinstance(head, int) else head
        at = replace(shot, gaze=replace(shot.gaze, layer=layer, head=own))
        frames.append(_frame(subject, at, f"layer {layer}"))
    return webp(frames)


def training_webp(subject: Subject, shot: Shot) -> bytes:
    """The chosen head of the chosen layer at every snapshot."""
    frames = []
    for step in subject.choice.steps:
        at = replace(subject, step=step, model=cached.loaded(subject.choice, step))
        frames.append(_frame(at, shot, f"step {step:,}"))
    return webp(frames, STEP_MS)


def sheet_png(subject: Subject, shot: Shot) -> bytes:
    """All heads of the layer, on one scale where the small maps share one."""
    lines, gaze = weights(subject, shot.gaze, shot.pin), shot.gaze
    first = layout_at(subject, gaze.layer).num_prefix_tokens
    top = float(lines[:, first:].max()) if shot.shared_scale else None
    tiles = [_image(subject, shot, line, TILE_PX, top) for line in lines]
    labels = [f"layer {gaze.layer}, head {i}" for i in range(1, len(lines) + 1)]
    return png(sheet(tiles, labels, min(4, len(tiles)), shot.drawn.mode))


def layer_npz(subject: Subject, layer: int) -> bytes:
    """A layer's attention, all heads and queries; of a Swin its windows' rows and where they lie."""
    out = io.BytesIO()
    if subject.able.windows:
        rows = subject.windows[layer - 1][1]
        np.savez_compressed(
            out, rows=rows.rows, slots=rows.slots, window_of=rows.window_of, slot_of=rows.slot_of
        )
    else:
        np.savez_compressed(
            out, attention=subject.attn[layer - 1], prefix=np.array(subject.layout.prefix, dtype="U8")
        )
    return out.getvalue()


def columns(subject: Subject, shot: Shot) -> dict[str, list[object]]:
    """One line per token: its index, its place and its weight in every head."""
    layout, lines = layout_at(subject, shot.gaze.layer), weights(subject, shot.gaze, shot.pin)
    places = [divmod(patch, layout.grid[1]) for patch in range(layout.num_patches)]
    names = [*layout.prefix, *(f"row {row + 1}, column {col + 1}" for row, col in places)]
    found: dict[str, list[object]] = {"token": list(range(lines.shape[1])), "place": list(names)}
    return found | {f"head {h}": [float(w) for w in line] for h, line in enumerate(lines, start=1)}


def draw(subject: Subject, shot: Shot) -> None:
    """The drawer of the numbers: the table, and what can be kept."""
    table = columns(subject, shot)
    st.dataframe(table, hide_index=True, height=240)
    layer = shot.gaze.layer
    name = f"attention_layer{layer}"
    files: list[tuple[str, Callable[[Subject, Shot], bytes], str]] = [
        ("View, PNG", view_png, f"{name}.png"),
        ("All heads, PNG", sheet_png, f"{name}_heads.png"),
        ("Through layers, WebP", layers_webp, "layers.webp"),
        ("Through training, WebP", training_webp, "training.webp"),
    ]
    alone = "This model has one step only." if len(subject.choice.steps) == 1 else None
    with st.container(horizontal=True):
        for label, make, file in files:
            page.download(
                label,
                partial(make, subject, shot),
                file,
                f"attention.export.{label}",
                why_not=alone if make is training_webp else None,
            )
        page.csv("Weights, CSV", table, f"{name}.csv", "attention.export.Weights, CSV")
        page.download(
            "Layer, NPZ", partial(layer_npz, subject, layer), f"{name}.npz", "attention.export.Layer, NPZ"
        )
    page.caption(SIZE)
