"""What a visitor takes along: the view and the sheet of heads as PNG, the numbers, an animation."""

from __future__ import annotations

import io

import numpy as np
import streamlit as st

from pages._shared import catalogue, nouns
from pages._shared.attention import subject as subjects
from pages._shared.attention.subject import Subject, pin_token
from vitviz.analysis.attention import FloatArray, fuse_heads, map_of_token
from vitviz.config import SwinConfig
from vitviz.models.layout import TokenLayout
from vitviz.plots.attention import Head
from vitviz.plots.attention_images import attention_image, png, sheet, webp

VIEW_PX = 1120  # twice the stage
TILE_PX = 280


def layout_of(subject: Subject, layer: int) -> TokenLayout:
    """The tokens of a layer: a Swin's grid shrinks from stage to stage."""
    if not isinstance(subject.model.config, SwinConfig):
        return subject.layout
    from pages._shared.attention.explore import stage_grid

    return TokenLayout((), stage_grid(subject, layer), subject.layout.patch_px)


def token_of(subject: Subject, layer: int) -> int:
    """The pinned token in a layer's own grid."""
    if not isinstance(subject.model.config, SwinConfig):
        return pin_token(subject, nouns.current().pin)
    layout, pin = layout_of(subject, layer), nouns.current().pin
    return layout.token_at(0.5, 0.5) if pin[0].isalpha() else layout.token_of_pin(pin)


def lines_of(subject: Subject, layer: int, direction: str) -> np.ndarray:
    """(heads, tokens): the pinned token's row or column in every head of a layer."""
    token = token_of(subject, layer)
    if isinstance(subject.model.config, SwinConfig):
        rows = subject.windows[layer - 1][1]
        if direction == "row":
            return map_of_token(rows, token)
        every = [map_of_token(rows, query)[:, token] for query in range(len(rows.window_of))]
        return np.stack(every, axis=1)
    heads = subject.attn[layer - 1]
    return heads[:, token] if direction == "row" else heads[:, :, token]


def _chosen(lines: FloatArray, head: Head) -> FloatArray:
    return lines[head - 1] if isinstance(head, int) else fuse_heads(lines[:, None], head)[0]


def _drawn(
    subject: Subject, line: FloatArray, layer: int, size_px: int, top: float | None = None
) -> np.ndarray:
    layout, token = layout_of(subject, layer), token_of(subject, layer)
    patch = token - layout.num_prefix_tokens
    said = st.session_state
    return attention_image(
        subject.prepared.shown,
        line[layout.num_prefix_tokens :],
        layout.grid,
        size_px=size_px,
        style=said.get("attention.style", "overlay"),
        top=top,
        query=divmod(patch, layout.grid[1]) if patch >= 0 else None,
        share=said.get("attention.share", 0.6),
        opacity=said.get("attention.opacity", 0.9),
        smooth=said.get("attention.smooth", False),
        mode=nouns.mode(),
    )


def _layers(subject: Subject, head: Head, direction: str) -> bytes:
    """The chosen head through the layers; of a Swin through all of its blocks."""
    from pages._shared.attention.explore import layers_of

    frames = []
    for layer, heads in enumerate(layers_of(subject), start=1):
        own = min(head, heads) if isinstance(head, int) else head
        line = _chosen(lines_of(subject, layer, direction), own)
        frames.append(
            sheet([_drawn(subject, line, layer, VIEW_PX // 2)], [f"layer {layer}"], 1, nouns.mode())
        )
    return webp(frames)


def _training(subject: Subject, layer: int, head: Head, direction: str) -> bytes:
    """The chosen head of the chosen layer at every snapshot."""
    frames = []
    for step in catalogue.models()[subject.key].steps:
        at = subjects.of(subject.key, step, subject.image)
        line = _chosen(lines_of(at, layer, direction), head)
        frames.append(sheet([_drawn(at, line, layer, VIEW_PX // 2)], [f"step {step:,}"], 1, nouns.mode()))
    return webp(frames, 400)


def _sheet(subject: Subject, layer: int, direction: str) -> bytes:
    lines = lines_of(subject, layer, direction)
    top = float(lines[:, layout_of(subject, layer).num_prefix_tokens :].max())
    shared = top if st.session_state.get("attention.scale", "shared") == "shared" else None
    tiles = [_drawn(subject, line, layer, TILE_PX, shared) for line in lines]
    labels = [f"layer {layer}, head {i}" for i in range(1, len(lines) + 1)]
    return png(sheet(tiles, labels, min(4, len(tiles)), nouns.mode()))


def _npz(subject: Subject, layer: int) -> bytes:
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


def rows_of_table(subject: Subject, layer: int, direction: str) -> list[dict[str, object]]:
    """One line per token: its place and its weight in every head."""
    layout, lines = layout_of(subject, layer), lines_of(subject, layer, direction)
    table = []
    for token in range(lines.shape[1]):
        patch = token - layout.num_prefix_tokens
        place = divmod(patch, layout.grid[1])
        name = layout.prefix[token] if patch < 0 else f"row {place[0] + 1}, column {place[1] + 1}"
        weights = {f"head {h + 1}": float(line[token]) for h, line in enumerate(lines)}
        table.append({"token": token, "place": name} | weights)
    return table


def _csv(table: list[dict[str, object]]) -> str:
    lines = [",".join(table[0])]
    lines += [",".join(f'"{v}"' if isinstance(v, str) else str(v) for v in row.values()) for row in table]
    return "\n".join(lines)


def draw(subject: Subject, layer: int, head: Head, direction: str) -> None:
    """The drawer of the numbers: the table, and what can be kept."""
    table = rows_of_table(subject, layer, direction)
    st.dataframe(table, hide_index=True, height=240)
    name = f"attention_layer{layer}"
    line = _chosen(lines_of(subject, layer, direction), head)
    steps = catalogue.models()[subject.key].steps
    with st.container(horizontal=True):
        for label, data, file, mime, off in (
            ("View, PNG", lambda: png(_drawn(subject, line, layer, VIEW_PX)), f"{name}.png", "image/png", ""),
            (
                "All heads, PNG",
                lambda: _sheet(subject, layer, direction),
                f"{name}_heads.png",
                "image/png",
                "",
            ),
            (
                "Through layers, WebP",
                lambda: _layers(subject, head, direction),
                "layers.webp",
                "image/webp",
                "",
            ),
            (
                "Through training, WebP",
                lambda: _training(subject, layer, head, direction),
                "training.webp",
                "image/webp",
                "" if len(steps) > 1 else "This model has one step only.",
            ),
            ("CSV", lambda: _csv(table), f"{name}.csv", "text/csv", ""),
            ("Whole layer, NPZ", lambda: _npz(subject, layer), f"{name}.npz", "application/octet-stream", ""),
        ):
            st.download_button(
                label,
                data,
                file,
                mime,
                key=f"attention.export.{label}",
                on_click="ignore",
                icon=":material/download:",
                disabled=bool(off),
                help=off or None,
            )
