"""Downloads of the attention explorer: images, animations, weights.

A file is made when it is downloaded, outside the script run: it reads an `ExportedView`, never the session.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import streamlit as st

from pages.controls import downloads
from pages.frame import page
from pages.lenses.attention.map_controls import MapControls
from pages.selection import selection
from pages.selection.attention_maps import MapSelection, get_layer_layout, select_head, select_weights
from pages.selection.subject import CapturedSubject, capture_attention, load_subject
from vitviz.analysis.attention import FloatArray
from vitviz.data.image_preprocessing import CROP_PX
from vitviz.models.token_layout import heads_by_layer
from vitviz.pin import Pin
from vitviz.plots.attention_images import Drawn, Style, attention_image, png, sheet, webp
from vitviz.plots.photo import Photo

FRAME_PX = 1264  # with the gutters of `sheet`, an animation is 1280 px wide
TILE_PX = 280
STEP_MS = 400
SIZE = (
    f"The view has the size of the original crop, at most {CROP_PX} × {CROP_PX} px; images below 128 px are enlarged"
    " by an integer factor."
)


@dataclass(frozen=True, eq=False)
class ExportedView:
    """The attention map, pin and style at the time when the page was drawn."""

    map_selection: MapSelection
    pin: Pin
    style: Drawn
    shared_scale: bool
    background: Photo

    @classmethod
    def capture(cls, subject: CapturedSubject, controls: MapControls) -> ExportedView:
        options = controls.options
        style = cast(Style, options.style)
        return cls(
            controls.map_selection,
            selection.get_current().pin,
            Drawn(style, options.share, options.opacity, options.smooth, options.grey, selection.get_theme()),
            options.scale == "shared",
            subject.ground(controls.background.seen),
        )


def _draw_image(
    subject: CapturedSubject,
    view: ExportedView,
    line: FloatArray,
    size_px: int | None,
    top: float | None = None,
) -> np.ndarray:
    layout = get_layer_layout(subject, view.map_selection.layer)
    patch = view.pin.token(layout) - layout.num_prefix_tokens
    return attention_image(
        view.background.pixels,
        line[layout.num_prefix_tokens :],
        layout.grid,
        view.style,
        size_px=size_px,
        top=top,
        query=divmod(patch, layout.grid[1]) if patch >= 0 else None,
    )


def _draw_stage(subject: CapturedSubject, view: ExportedView, size_px: int | None) -> np.ndarray:
    lines = select_weights(subject, view.map_selection, view.pin)
    return _draw_image(subject, view, select_head(lines, view.map_selection.head), size_px)


def make_view_png(subject: CapturedSubject, view: ExportedView) -> bytes:
    return png(_draw_stage(subject, view, None))


def _draw_frame(subject: CapturedSubject, view: ExportedView, label: str) -> np.ndarray:
    return sheet([_draw_stage(subject, view, FRAME_PX)], [label], 1, view.style.mode)


def make_layers_webp(subject: CapturedSubject, view: ExportedView) -> bytes:
    frames = []
    for layer, heads in enumerate(heads_by_layer(subject.model.config), start=1):
        head = view.map_selection.head
        layer_head = min(head, heads) if isinstance(head, int) else head
        captured = capture_attention(subject, layer)
        layer_view = replace(view, map_selection=replace(view.map_selection, layer=layer, head=layer_head))
        frames.append(_draw_frame(captured, layer_view, f"layer {layer}"))
    return webp(frames)


def make_training_webp(subject: CapturedSubject, view: ExportedView) -> bytes:
    frames = []
    for step in subject.choice.steps:
        snapshot = load_subject(subject.choice, step, subject.image, subject.offset)
        captured = capture_attention(snapshot, view.map_selection.layer)
        frames.append(_draw_frame(captured, view, f"step {step:,}"))
    return webp(frames, STEP_MS)


def make_heads_png(subject: CapturedSubject, view: ExportedView) -> bytes:
    """Return all heads of the layer, on one scale if the small maps share one."""
    lines, map_selection = select_weights(subject, view.map_selection, view.pin), view.map_selection
    first = get_layer_layout(subject, map_selection.layer).num_prefix_tokens
    top = float(lines[:, first:].max()) if view.shared_scale else None
    tiles = [_draw_image(subject, view, line, TILE_PX, top) for line in lines]
    labels = [f"layer {map_selection.layer}, head {i}" for i in range(1, len(lines) + 1)]
    return png(sheet(tiles, labels, min(4, len(tiles)), view.style.mode))


def make_layer_npz(subject: CapturedSubject, layer: int) -> bytes:
    """Return the attention of a layer, all heads and queries; a Swin's per window."""
    out = io.BytesIO()
    if subject.able.windows:
        rows = subject.windows[layer - 1][1]
        np.savez_compressed(
            out, rows=rows.rows, slots=rows.slots, window_of=rows.window_of, slot_of=rows.slot_of
        )
    else:
        np.savez_compressed(
            out, attention=subject.attention_of(layer), prefix=np.array(subject.layout.prefix, dtype="U8")
        )
    return out.getvalue()


def collect_weights(subject: CapturedSubject, view: ExportedView) -> dict[str, list[object]]:
    """Return columns with a row per token: index, position and its weight in every head."""
    layout = get_layer_layout(subject, view.map_selection.layer)
    lines = select_weights(subject, view.map_selection, view.pin)
    cells = [divmod(patch, layout.grid[1]) for patch in range(layout.num_patches)]
    names = [*layout.prefix, *(f"row {row + 1}, column {col + 1}" for row, col in cells)]
    columns: dict[str, list[object]] = {"token": list(range(1, lines.shape[1] + 1)), "position": list(names)}
    return columns | {f"head {h}": [float(w) for w in line] for h, line in enumerate(lines, start=1)}


def draw(subject: CapturedSubject, view: ExportedView) -> None:
    layer = view.map_selection.layer
    name, data = f"attention_layer{layer}", f"attention_layer{layer - 1}_from_0"
    table = collect_weights(subject, view)
    st.dataframe(table, hide_index=True, height=240)
    files: list[tuple[str, Callable[[CapturedSubject, ExportedView], bytes], str]] = [
        ("View, PNG", make_view_png, f"{name}.png"),
        ("All heads, PNG", make_heads_png, f"{name}_heads.png"),
        ("Through layers, WebP", make_layers_webp, "layers.webp"),
        ("Through training, WebP", make_training_webp, "training.webp"),
    ]
    single_step = "This model has only one snapshot." if len(subject.choice.steps) == 1 else None
    with st.container(horizontal=True):
        for label, make, file in files:
            downloads.download(
                label,
                partial(make, subject, view),
                file,
                f"attention.export.{label}",
                why_not=single_step if make is make_training_webp else None,
            )
        downloads.csv("Weights, CSV", table, f"{data}.csv", "attention.export.Weights, CSV")
        downloads.download(
            "Layer, NPZ",
            partial(make_layer_npz, subject, layer),
            f"{data}.npz",
            "attention.export.Layer, NPZ",
        )
    page.caption(SIZE)
