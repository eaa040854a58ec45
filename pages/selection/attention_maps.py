"""Build and describe the attention maps of a ViT's heads and of a Swin's windows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pages.selection.subject import CapturedSubject
from pages.stores import shared_cache
from vitviz.analysis.attention import (
    FloatArray,
    fuse_heads,
    map_of_token,
    map_onto_token,
)
from vitviz.models.token_layout import TokenLayout, layout_of_layer
from vitviz.pin import Pin
from vitviz.plots.attention_message import Head, Strip, explorer_layers_view, explorer_view, strip_view
from vitviz.plots.live_explorer import LiveModel, live_explorer_view, name_script, runs_in_browser
from vitviz.plots.photo import Photo
from vitviz.probe.explorer_layers import describe_scene

Direction = Literal["row", "column"]
PREDICTED = 3  # classes beside the map


@dataclass(frozen=True)
class MapSelection:
    """One attention map: a layer and a head (both from 1, or fused heads), as a row or a column."""

    layer: int
    head: Head
    direction: Direction = "row"  # row: a query's weights; column: the weights on a key

    @property
    def name(self) -> str:
        """Return a name such as 'Layer 3, head 2'."""
        return f"Layer {self.layer}, {name_head(self.head).lower()}"

    def write_call(self, token: int) -> str:
        """Return the Python call that gives a token's row in this map, '' for a column; its indices count from 0."""
        if self.direction != "row":
            return ""
        head = self.head - 1 if isinstance(self.head, int) else f'"{self.head}"'
        return f"vitviz.inspect(model, image).attention(layer={self.layer - 1}, head={head}, query={token})"


def name_head(head: Head) -> str:
    return f"Head {head}" if isinstance(head, int) else f"{head.capitalize()} of heads"


def get_layer_layout(subject: CapturedSubject, layer: int) -> TokenLayout:
    return layout_of_layer(subject.model.config, subject.layout, layer)


def select_weights(subject: CapturedSubject, map_selection: MapSelection, pin: Pin) -> FloatArray:
    """Return the pinned token's row or column in every head of a layer, shape (heads, tokens)."""
    token = pin.token(get_layer_layout(subject, map_selection.layer))
    row = map_selection.direction == "row"
    if subject.able.windows:
        rows = subject.windows[map_selection.layer - 1][1]
        return map_of_token(rows, token) if row else map_onto_token(rows, token)
    heads = subject.attention_of(map_selection.layer)
    return np.asarray(heads[:, token] if row else heads[:, :, token])


def select_head(lines: FloatArray, head: Head) -> FloatArray:
    """Return one head's weights, or all heads fused: (heads, tokens) -> (tokens,)."""
    return np.asarray(lines[head - 1] if isinstance(head, int) else fuse_heads(lines[:, None], head)[0])


def build_view(
    subject: CapturedSubject, map_selection: MapSelection, ground: Photo, group: str, bars: str = ""
) -> tuple[bytes, Strip]:
    """Return the browser's message, and the strip of the captured layers (for a Swin, of the stage's).

    Args:
        bars: key of the bars whose most probable classes stand beside the map; by default none do.
    """
    predicted = _describe_prediction(subject, bars)
    layer, head = map_selection.layer, map_selection.head
    scene = describe_scene(subject.model, subject.layout, layer, head, group)
    if subject.able.windows:
        strip = strip_view([subject.windows[at - 1][1] for at in scene.strip_layers], head)
        return explorer_view(scene, ground, subject.windows[layer - 1][1], strip, predicted), strip
    if not subject.able.whole_record:
        scene = replace(scene, strip_layers=(layer,), strip_names=(f"layer {layer}",))
    strip = _build_strip(subject, subject.captured_layers, head)
    return explorer_view(scene, ground, subject.attention_of(layer), strip, predicted), strip


def _describe_prediction(subject: CapturedSubject, bars: str) -> dict[str, object] | None:
    """Return the most probable classes; None without classes or probabilities."""
    if not bars or not subject.able.class_head or getattr(subject.model.config, "class_output", "") == "raw":
        return None
    top = np.argsort(-subject.probabilities, kind="stable")[:PREDICTED]
    now = [round(float(subject.probabilities[i]), 4) for i in top]
    return {"key": bars, "names": [subject.classes[i] for i in top], "now": now}


@shared_cache.per_image(shared=24, upload=6)
def _build_strip(subject: CapturedSubject, layers: tuple[int, ...], head: Head) -> Strip:
    return strip_view(subject.attn, head)


def build_layers_view(
    subject: CapturedSubject, map_selection: MapSelection, ground: Photo, options: Mapping[str, object]
) -> bytes:
    """Return the message of all layers and heads, for a file that works without this server."""
    layers, numbers = [rows for _, rows in subject.windows] or subject.attn, subject.captured_layers
    scenes = [describe_scene(subject.model, subject.layout, at, map_selection.head, "") for at in numbers]
    if not subject.able.whole_record:
        scenes = [replace(scenes[0], strip_layers=(1,), strip_names=(f"layer {numbers[0]}",))]
    return explorer_layers_view(scenes, ground, layers, options, numbers.index(map_selection.layer))


def can_run(subject: CapturedSubject) -> bool:
    """Return True if a file's explorer runs the model."""
    able = subject.able
    return runs_in_browser(subject.model.config) and bool(able.class_head) and bool(able.whole_record)


def build_live_view(
    subject: CapturedSubject,
    map_selection: MapSelection,
    ground: Photo,
    options: Mapping[str, object],
    steps: Sequence[int] = (),
    *,
    weights: dict[str, bytes] | None = None,
) -> bytes:
    """Return the message of all layers and heads with the model at `steps` (by default the subject's), for a file.

    Where a browser cannot run the model, the message names no weights. `weights` takes the checkpoints by address; by
    default the message holds them.
    """
    from vitviz.checkpoints import pack_model

    stored = build_layers_view(subject, map_selection, ground, options)
    if not can_run(subject):
        return stored
    live = LiveModel(
        config=subject.model.config,
        preparation=subject.model.preparation,
        classes=subject.model.classes,
        checkpoints={
            step: pack_model(shared_cache.load_model(subject.choice, step))
            for step in steps or [subject.step]
        },
        step=subject.step,
        layers=[name for name, _ in subject.windows]
        or [f"blocks.{at - 1}" for at in subject.captured_layers],
        pixels=subject.prepared.input,
        probabilities=subject.probabilities,
    )
    if weights is not None:
        weights.update({name_script(raw): raw for raw in live.checkpoints.values()})
    return live_explorer_view(stored, live, embedded=weights is None)
