"""What a visitor takes along: the view and the sheet of heads as PNG, the numbers, an animation.

A download is made when it is asked for, after the script has run and outside of it: everything that it needs stands in
a `Look`, and nothing here reads the session.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from pages.shell.subject import Subject
from pages.stores import cached
from vitviz.analysis.attention import FloatArray, fuse_heads, map_of_token, map_onto_token
from vitviz.config import SwinConfig
from vitviz.models.layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots.attention import Head
from vitviz.plots.attention_images import Style, attention_image, png, sheet, webp
from vitviz.plots.theme import Mode


@dataclass(frozen=True)
class Look:
    """What is looked at and how, when the page was drawn."""

    layer: int
    head: Head
    direction: str
    pin: Pin
    style: Style
    share: float
    opacity: float
    smooth: bool
    shared_scale: bool
    mode: Mode


VIEW_PX = 1120  # twice the stage
TILE_PX = 280


def layout_of(subject: Subject, layer: int) -> TokenLayout:
    """The tokens of a layer: a Swin's grid shrinks from stage to stage."""
    if not isinstance(subject.model.config, SwinConfig):
        return subject.layout
    from pages.inside.attention.explore import stage_grid

    return TokenLayout((), stage_grid(subject, layer), subject.layout.patch_px)


def token_of(subject: Subject, look: Look) -> int:
    """The pinned token in a layer's own grid."""
    return look.pin.token(layout_of(subject, look.layer))


def lines_of(subject: Subject, look: Look) -> np.ndarray:
    """(heads, tokens): the pinned token's row or column in every head of a layer."""
    token = token_of(subject, look)
    if isinstance(subject.model.config, SwinConfig):
        rows = subject.windows[look.layer - 1][1]
        return map_of_token(rows, token) if look.direction == "row" else map_onto_token(rows, token)
    heads = subject.attn[look.layer - 1]
    return heads[:, token] if look.direction == "row" else heads[:, :, token]


def _chosen(lines: FloatArray, head: Head) -> FloatArray:
    return lines[head - 1] if isinstance(head, int) else fuse_heads(lines[:, None], head)[0]


def _drawn(
    subject: Subject, line: FloatArray, look: Look, size_px: int, top: float | None = None
) -> np.ndarray:
    layout = layout_of(subject, look.layer)
    patch = token_of(subject, look) - layout.num_prefix_tokens
    return attention_image(
        subject.prepared.shown,
        line[layout.num_prefix_tokens :],
        layout.grid,
        size_px=size_px,
        style=look.style,
        top=top,
        query=divmod(patch, layout.grid[1]) if patch >= 0 else None,
        share=look.share,
        opacity=look.opacity,
        smooth=look.smooth,
        mode=look.mode,
    )


def view_png(subject: Subject, look: Look) -> bytes:
    """The stage at twice its size."""
    return png(_drawn(subject, _chosen(lines_of(subject, look), look.head), look, VIEW_PX))


def _frame(subject: Subject, look: Look, label: str) -> np.ndarray:
    image = _drawn(subject, _chosen(lines_of(subject, look), look.head), look, VIEW_PX // 2)
    return sheet([image], [label], 1, look.mode)


def layers_webp(subject: Subject, look: Look) -> bytes:
    """The chosen head through the layers; of a Swin through all of its blocks."""
    from pages.inside.attention.explore import layers_of

    frames = []
    for layer, heads in enumerate(layers_of(subject), start=1):
        own = min(look.head, heads) if isinstance(look.head, int) else look.head
        frames.append(_frame(subject, replace(look, layer=layer, head=own), f"layer {layer}"))
    return webp(frames)


def training_webp(subject: Subject, look: Look) -> bytes:
    """The chosen head of the chosen layer at every snapshot."""
    frames = []
    for step in subject.choice.steps:
        model = cached.loaded(subject.choice, step)
        at = replace(subject, step=step, model=model)
        frames.append(_frame(at, look, f"step {step:,}"))
    return webp(frames, 400)


def sheet_png(subject: Subject, look: Look) -> bytes:
    """All heads of the layer, on one scale where the small maps share one."""
    lines = lines_of(subject, look)
    top = float(lines[:, layout_of(subject, look.layer).num_prefix_tokens :].max())
    tiles = [_drawn(subject, line, look, TILE_PX, top if look.shared_scale else None) for line in lines]
    labels = [f"layer {look.layer}, head {i}" for i in range(1, len(lines) + 1)]
    return png(sheet(tiles, labels, min(4, len(tiles)), look.mode))


def layer_npz(subject: Subject, layer: int) -> bytes:
    """A layer's attention, all heads and queries; of a Swin its windows' rows and where they lie."""
    out = io.BytesIO()
    if isinstance(subject.model.config, SwinConfig):
        rows = subject.windows[layer - 1][1]
        np.savez_compressed(
            out, rows=rows.rows, slots=rows.slots, window_of=rows.window_of, slot_of=rows.slot_of
        )
    else:
        np.savez_compressed(
            out, attention=subject.attn[layer - 1], prefix=np.array(subject.layout.prefix, dtype="U8")
        )
    return out.getvalue()


def rows_of_table(subject: Subject, look: Look) -> list[dict[str, object]]:
    """One line per token: its place and its weight in every head."""
    layout, lines = layout_of(subject, look.layer), lines_of(subject, look)
    table = []
    for token in range(lines.shape[1]):
        patch = token - layout.num_prefix_tokens
        place = divmod(patch, layout.grid[1])
        name = layout.prefix[token] if patch < 0 else f"row {place[0] + 1}, column {place[1] + 1}"
        weights = {f"head {h + 1}": float(line[token]) for h, line in enumerate(lines)}
        table.append({"token": token, "place": name} | weights)
    return table


def csv(table: list[dict[str, object]]) -> str:
    """The table as comma-separated lines; places are quoted."""
    lines = [",".join(table[0])]
    lines += [",".join(f'"{v}"' if isinstance(v, str) else str(v) for v in row.values()) for row in table]
    return "\n".join(lines)


def draw(subject: Subject, look: Look) -> None:
    """The drawer of the numbers: the table, and what can be kept."""
    table = rows_of_table(subject, look)
    st.dataframe(table, hide_index=True, height=240)
    name = f"attention_layer{look.layer}"
    one_step = len(subject.choice.steps) == 1
    downloads: list[tuple[str, Callable[[], bytes], str, str, bool]] = [
        ("View, PNG", lambda: view_png(subject, look), f"{name}.png", "image/png", False),
        ("All heads, PNG", lambda: sheet_png(subject, look), f"{name}_heads.png", "image/png", False),
        ("Through layers, WebP", lambda: layers_webp(subject, look), "layers.webp", "image/webp", False),
        (
            "Through training, WebP",
            lambda: training_webp(subject, look),
            "training.webp",
            "image/webp",
            one_step,
        ),
        ("Weights, CSV", lambda: csv(table).encode(), f"{name}.csv", "text/csv", False),
        (
            "Layer, NPZ",
            lambda: layer_npz(subject, look.layer),
            f"{name}.npz",
            "application/octet-stream",
            False,
        ),
    ]
    with st.container(horizontal=True):
        for label, make, file, mime, off in downloads:
            st.download_button(
                label,
                make,
                file,
                mime,
                key=f"attention.export.{label}",
                on_click="ignore",
                icon=":material/download:",
                disabled=off,
                help="This model has one step only." if off else None,
            )
