"""What the attention explorer sends to the browser: stacks of quantised maps beside the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, Fusion, WindowRows, fuse_heads, quantise_rows
from vitviz.plots.blob import pack

Head = int | Fusion


@dataclass(frozen=True)
class Scene:
    """What the explorer says beside its maps; layers and heads count from 1, as people do.

    `head` is a head, or how the heads are fused; `strip_layers` are the layers of the strip, `strip_names` their
    labels; `group` names the explorers that share pin, view and pointer.
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
    head_dim: int
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


def strip_codes(attn: FloatArray, head: Head) -> Quantised:
    """One head of all layers, or all heads fused, quantised."""
    return quantise_rows(_chosen(attn, head))


def explorer_view(scene: Scene, picture: NDArray[np.uint8], layer: Quantised, strip: Quantised) -> bytes:
    """The chosen layer with all heads, and the chosen head with all layers: never all of it.

    Args:
        picture: (S, S, 3) uint8, what the model sees.
        layer: of `layer_codes`, strip: of `strip_codes`.
    """
    return pack(
        asdict(scene),
        picture=picture,
        layer_codes=layer[0],
        layer_max=layer[1],
        strip_codes=strip[0],
        strip_max=strip[1],
    )


def windows_view(scene: Scene, picture: NDArray[np.uint8], blocks: Sequence[WindowRows], index: int) -> bytes:
    """The same of a Swin stage: `blocks` are the stage's, of which `blocks[index]` is on the stage."""
    layer = quantise_rows(blocks[index].rows)
    strip = quantise_rows(np.stack([_chosen(block.rows, scene.head) for block in blocks]))
    return pack(
        asdict(scene) | {"slots": int(blocks[index].slots.shape[1])},
        picture=picture,
        layer_codes=layer[0],
        layer_max=layer[1],
        strip_codes=strip[0],
        strip_max=strip[1],
        **_windows("layer", blocks[index : index + 1]),
        **_windows("strip", blocks),
    )


def _windows(name: str, blocks: Sequence[WindowRows]) -> dict[str, NDArray[Any]]:
    return {
        f"{name}_slots": np.stack([block.slots for block in blocks]),
        f"{name}_window_of": np.stack([block.window_of for block in blocks]),
        f"{name}_slot_of": np.stack([block.slot_of for block in blocks]),
    }


def maps_view(
    picture: NDArray[np.uint8],
    maps: FloatArray,
    titles: Sequence[str],
    grid: tuple[int, int],
    *,
    shared_scale: bool = False,
    kept: NDArray[np.bool_] | None = None,
    notes: Sequence[str] = (),
    lines: Sequence[str] = (),
) -> bytes:
    """Maps of one picture side by side, each over the same grid, one pointer over all.

    Args:
        maps: (maps, patches), not negative.
        kept: (maps, patches): the patches that a mask keeps; the others are dimmed instead.
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
        "mask": kept is not None,
    }
    arrays: dict[str, NDArray[Any]] = {"picture": picture, "maps": maps.astype(np.float32)}
    if kept is not None:
        arrays["kept"] = kept.astype(np.uint8)
    return pack(header, **arrays)
