"""What the attention explorer sends to the browser: stacks of quantised maps beside the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, Fusion, WindowRows, fuse_heads, quantise_rows
from vitviz.plots.blob import pack

Head = int | Fusion


@dataclass(frozen=True)
class Scene:
    """What the explorer says beside its maps; layers and heads count from 1, as people do.

    `head` is a head, or how the heads are fused; `scores` is what the softmax reads, in symbols; `strip_layers` are
    the layers of the strip, `strip_names` their labels; `group` names the explorers that share pin, view and pointer.
    """

    group: str
    title: str
    grid: tuple[int, int]
    prefix: tuple[str, ...]
    patch_px: int
    layer: int
    layer_name: str
    head: Head
    heads: int
    scores: str
    strip_layers: tuple[int, ...]
    strip_names: tuple[str, ...]
    windowed: bool = False


def _chosen(attn: FloatArray, head: Head) -> FloatArray:
    """(..., heads, query, key) -> (..., query, key) of one head, or of all of them fused."""
    return attn[..., head - 1, :, :] if isinstance(head, int) else fuse_heads(attn, head)


Quantised = tuple[NDArray[np.uint8], NDArray[np.float32]]


def layer_codes(attn: FloatArray, layer: int) -> Quantised:
    """All heads of one layer (from 1) of attn (depth, heads, query, key), quantised."""
    return quantise_rows(attn[layer - 1])


@dataclass(frozen=True, eq=False)
class Strip:
    """One head in all layers, packed as a message of its own: a change of layer alone does not send it again.

    `tag` names its content, so that the browser knows which strip belongs to which layer.
    """

    tag: str
    data: bytes


def _strip(codes: Quantised, **windows: NDArray[Any]) -> Strip:
    tag = blake2b(np.ascontiguousarray(codes[0]).data, digest_size=8)
    tag.update(np.ascontiguousarray(codes[1]).data)
    return Strip(tag.hexdigest(), pack({"tag": tag.hexdigest()}, codes=codes[0], max=codes[1], **windows))


def strip_view(attn: FloatArray, head: Head) -> Strip:
    """The chosen head of attn (depth, heads, query, key) in all layers, or all heads fused."""
    return _strip(quantise_rows(_chosen(attn, head)))


def windows_strip(blocks: Sequence[WindowRows], head: Head) -> Strip:
    """The same of a Swin stage's blocks."""
    codes = quantise_rows(np.stack([_chosen(block.rows, head) for block in blocks]))
    return _strip(codes, **_windows(blocks))


def explorer_view(scene: Scene, picture: NDArray[np.uint8], layer: Quantised, strip: Strip) -> bytes:
    """The chosen layer with all heads; with the strip that it names, the browser has all that it draws.

    Args:
        picture: (S, S, 3) uint8, what the model sees.
        layer: of `layer_codes`.
    """
    return pack(
        asdict(scene) | {"strip": strip.tag}, picture=picture, layer_codes=layer[0], layer_max=layer[1]
    )


def windows_view(scene: Scene, picture: NDArray[np.uint8], block: WindowRows, strip: Strip) -> bytes:
    """The same of one block of a Swin."""
    codes, maxima = quantise_rows(block.rows)
    windows = {f"layer_{name}": array for name, array in _windows([block]).items()}
    header = asdict(scene) | {"strip": strip.tag, "slots": int(block.slots.shape[1])}
    return pack(header, picture=picture, layer_codes=codes, layer_max=maxima, **windows)


def _windows(blocks: Sequence[WindowRows]) -> dict[str, NDArray[Any]]:
    return {
        "slots": np.stack([block.slots for block in blocks]),
        "window_of": np.stack([block.window_of for block in blocks]),
        "slot_of": np.stack([block.slot_of for block in blocks]),
    }


def maps_view(
    picture: NDArray[np.uint8],
    maps: FloatArray,
    titles: Sequence[str],
    grid: tuple[int, int],
    *,
    shared_scale: bool = False,
    notes: Sequence[str] = (),
    lines: Sequence[str] = (),
) -> bytes:
    """Maps of one picture side by side, each over the same grid, one pointer over all.

    Args:
        maps: (maps, patches), not negative.
        notes: one line under each map; `lines`: one or two over it, under the title.
    """
    top = maps.max(axis=-1)
    scale = np.full_like(top, top.max()) if shared_scale else top
    header: dict[str, Any] = {
        "titles": list(titles),
        "notes": list(notes),
        "lines": list(lines) or None,
        "grid": list(grid),
        "scale": [float(value) for value in scale],
    }
    return pack(header, picture=picture, maps=maps.astype(np.float32))
