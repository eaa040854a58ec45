"""Pack attention maps for the browser: stacks of quantised maps beside the image."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, Fusion, WindowRows, fuse_heads, quantise_rows
from vitviz.plots.blob import name_files, pack
from vitviz.plots.photo import Photo, Uint8, decode_photo

Head = int | Fusion
# The view of `explorer_layers_view`: its module, then its style sheets.
EXPLORER_FILES = tuple(
    f"vitviz/browser/{name}" for name in ("explorer_layers.js", "explorer_layers.css", "explorer.css")
)


@dataclass(frozen=True)
class MapsDrawn:
    """Drawing options of maps: smoothed between patches, over grey, and the cell where arrow keys begin."""

    smooth: bool = False
    grey: bool = True
    start: int = 0


@dataclass(frozen=True)
class Scene:
    """Texts and selection of the explorer; layers and heads count from 1.

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


def _select_head(attn: FloatArray, head: Head) -> FloatArray:
    """Return (..., heads, query, key) -> (..., query, key) of one head, or of all of them fused."""
    return attn[..., head - 1, :, :] if isinstance(head, int) else fuse_heads(attn, head)


Quantised = tuple[NDArray[np.uint8], NDArray[np.float32]]


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


def strip_view(layers: Sequence[FloatArray], head: Head) -> Strip:
    """Return the chosen head of all layers (heads, query, key), or all heads fused."""
    return _strip(quantise_rows(np.stack([_select_head(attn, head) for attn in layers])))


def windows_strip(blocks: Sequence[WindowRows], head: Head) -> Strip:
    """Return the strip of a Swin stage's blocks."""
    codes = quantise_rows(np.stack([_select_head(block.rows, head) for block in blocks]))
    return _strip(codes, **_windows(blocks))


def explorer_view(scene: Scene, image: Uint8 | Photo, layer: Quantised, strip: Strip) -> bytes:
    """Return the chosen layer with all heads; the browser combines it with the strip that it names.

    Args:
        image: (S, S, 3) uint8, what is drawn on: the crop or what the model sees.
        layer: (heads, query, key), of `quantise_rows`.
    """
    ground = decode_photo(image)
    header = asdict(scene) | {"strip": strip.tag} | ground.header
    return pack(header, photo=ground.array, layer_codes=layer[0], layer_max=layer[1])


def windows_view(scene: Scene, image: Uint8 | Photo, block: WindowRows, strip: Strip) -> bytes:
    """Return one block of a Swin with all heads."""
    ground = decode_photo(image)
    codes, maxima = quantise_rows(block.rows)
    windows = {f"layer_{name}": array for name, array in _windows([block]).items()}
    header = asdict(scene) | {"strip": strip.tag, "slots": int(block.slots.shape[1])} | ground.header
    return pack(header, photo=ground.array, layer_codes=codes, layer_max=maxima, **windows)


def explorer_layers_view(
    scenes: Sequence[Scene], image: Uint8 | Photo, layers: Sequence[FloatArray | WindowRows], pin: str
) -> bytes:
    """Return all layers with all heads, which the browser shows without a server; it names its own files.

    Args:
        scenes: of every layer; their heads are where the view begins.
        image: as `explorer_view` takes it.
        layers: (heads, query, key) of every layer, or a Swin's rows.
    """
    ground = decode_photo(image)
    arrays: dict[str, NDArray[Any]] = {"photo": ground.array}
    described = []
    for index, (scene, rows) in enumerate(zip(scenes, layers, strict=True)):
        header = asdict(scene)
        if isinstance(rows, WindowRows):
            arrays |= {f"{name}{index}": array for name, array in _windows([rows]).items()}
            header["slots"] = int(rows.slots.shape[1])
        arrays[f"codes{index}"], arrays[f"max{index}"] = quantise_rows(
            rows.rows if isinstance(rows, WindowRows) else rows
        )
        described.append(header)
    return name_files(EXPLORER_FILES) + pack({"scenes": described, "pin": pin} | ground.header, **arrays)


def _windows(blocks: Sequence[WindowRows]) -> dict[str, NDArray[Any]]:
    return {
        "slots": np.stack([block.slots for block in blocks]),
        "window_of": np.stack([block.window_of for block in blocks]),
        "slot_of": np.stack([block.slot_of for block in blocks]),
    }


def maps_view(
    image: Uint8 | Photo,
    maps: FloatArray,
    titles: Sequence[str],
    grid: tuple[int, int],
    *,
    sharing: int = 0,
    notes: Sequence[str] = (),
    lines: Sequence[str] = (),
    drawn: MapsDrawn = MapsDrawn(),  # noqa: B008  (frozen)
) -> bytes:
    """Return the maps of one image side by side, over the same grid.

    Args:
        image: (S, S, 3) uint8, what is drawn on: the crop or what the model sees.
        maps: (maps, patches); negative values are blue.
        sharing: how many maps, the first ones, share a scale; the others have their own.
        notes: one line under each map; `lines`: one or two over it, under the title.
        drawn: how; the numbers are those of the patches all the same.
    """
    ground = decode_photo(image)
    scale = np.abs(maps).max(axis=-1)
    scale[:sharing] = scale[:sharing].max(initial=0)
    header: dict[str, Any] = {
        "titles": list(titles),
        "notes": list(notes),
        "lines": list(lines) or None,
        "grid": list(grid),
        "scale": [float(value) for value in scale],
        **asdict(drawn),
        **ground.header,
    }
    return pack(header, photo=ground.array, maps=maps.astype(np.float32))
