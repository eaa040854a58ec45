"""Pack attention for the browser: stacks of quantised maps beside the image, and the attention matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import FloatArray, Fusion, WindowRows, fuse_heads, quantise_rows
from vitviz.models.token_layout import TokenLayout
from vitviz.plots.blob import name_files, pack
from vitviz.plots.photo import Photo, Uint8, decode_photo

Head = int | Fusion
# The view of `explorer_layers_view`: its module, then its style sheets.
EXPLORER_FILES = tuple(
    f"vitviz/browser/{name}" for name in ("explorer_layers.js", "explorer_layers.css", "explorer.css")
)
EXACT_WEIGHTS = (
    2_000_000  # a file with more has codes of 8 bits: errors up to 0.4 % of the row's largest weight
)
SHOWN_SHARE = (
    0.995  # of the weights lie below the colour scale's end: a few strong ones would leave the rest pale
)


@dataclass(frozen=True)
class ExplorerTexts:
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


LayerMaps = FloatArray | WindowRows  # (heads, query, key), or a Swin's rows


@dataclass(frozen=True, eq=False)
class Strip:
    """One head in all layers, packed as a message of its own: a change of layer alone does not send it again.

    `tag` names its content, so that the browser knows which strip belongs to which layer.
    """

    tag: str
    data: bytes


def strip_view(layers: Sequence[LayerMaps], head: Head) -> Strip:
    """Return the chosen head of all layers, or of a Swin stage's blocks, or all heads fused."""
    codes, maxima = quantise_rows(np.stack([_select_head(_rows(layer), head) for layer in layers]))
    tag = blake2b(np.ascontiguousarray(codes).data, digest_size=8)
    tag.update(np.ascontiguousarray(maxima).data)
    message = pack({"tag": tag.hexdigest()}, codes=codes, max=maxima, **_windows(layers))
    return Strip(tag.hexdigest(), message)


def explorer_view(
    scene: ExplorerTexts,
    image: Uint8 | Photo,
    layer: LayerMaps,
    strip: Strip,
    predicted: Mapping[str, object] | None = None,
) -> bytes:
    """Return the chosen layer with all heads; the browser combines it with the strip that it names.

    Args:
        image: (S, S, 3) uint8, what is drawn on: the crop or what the model sees.
        predicted: the most probable classes as `names` and `now`, and the `key` of the bars that show them.
    """
    ground = decode_photo(image)
    header, arrays = encode_layer(scene, layer)
    more = {"strip": strip.tag} | ({"predicted": predicted} if predicted else {})
    return pack(header | more | ground.header, photo=ground.array, **arrays)


def explorer_layers_view(
    scenes: Sequence[ExplorerTexts],
    image: Uint8 | Photo,
    layers: Sequence[LayerMaps],
    options: Mapping[str, object],
    at: int = -1,
) -> bytes:
    """Return all layers with all heads, which the browser shows without a server; it names its own files.

    Weights have 16 bits, or 8 where they are more than `EXACT_WEIGHTS`.

    Args:
        scenes: of every layer; their heads are where the view begins.
        image: as `explorer_view` takes it.
        options: the pin, and the explorer's options that differ from its own.
        at: index of the layer where the view begins; by default the last.
    """
    ground = decode_photo(image)
    arrays: dict[str, NDArray[Any]] = {"photo": ground.array}
    described = []
    coarse = sum(_rows(layer).size for layer in layers) > EXACT_WEIGHTS
    for index, (scene, layer) in enumerate(zip(scenes, layers, strict=True)):
        header, part = encode_layer(scene, layer, f"{{}}{index}")
        if coarse:
            codes = f"codes{index}"
            part[codes] = ((part[codes].astype(np.uint32) + 128) // 257).astype(np.uint8)
        arrays |= part
        described.append(header)
    return name_files(EXPLORER_FILES) + pack(
        {"scenes": described, "options": options, "at": at % len(scenes)} | ground.header, **arrays
    )


def _rows(layer: LayerMaps) -> FloatArray:
    return layer.rows if isinstance(layer, WindowRows) else layer


def encode_layer(
    scene: ExplorerTexts, layer: LayerMaps, name: str = "layer_{}"
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of one layer; `name` is the template of the arrays' names."""
    codes, maxima = quantise_rows(_rows(layer))
    slots = {"slots": int(layer.slots.shape[1])} if isinstance(layer, WindowRows) else {}
    arrays: dict[str, NDArray[Any]] = {"codes": codes, "max": maxima, **_windows([layer])}
    return asdict(scene) | slots, {name.format(part): array for part, array in arrays.items()}


def _windows(layers: Sequence[LayerMaps]) -> dict[str, NDArray[Any]]:
    """Return the windows of a Swin's blocks; none of another model's layers."""
    blocks = [layer for layer in layers if isinstance(layer, WindowRows)]
    names = ("slots", "window_of", "slot_of") if blocks else ()
    return {name: np.stack([getattr(block, name) for block in blocks]) for name in names}


def encode_image_matrix(
    attn: FloatArray, photo: Photo, layout: TokenLayout, pin: str, *, causal: bool
) -> bytes:
    """Return one head's (tokens, tokens) attention over its image, packed for `matrix.js`."""
    header = {
        "words": None,
        "prefix": list(layout.prefix),
        "grid": list(layout.grid),
        "pin": pin,
        "causal": causal,
        "top": scale_end(attn),
        **photo.header,
    }
    codes, maxima = quantise_rows(attn)
    return pack(header, codes=codes, max=maxima, photo=photo.array)


def encode_words_matrix(attn: FloatArray, words: Sequence[str], *, causal: bool) -> bytes:
    """Return the attention between the words of a sentence, packed for `matrix.js`."""
    codes, maxima = quantise_rows(attn)
    header = {
        "words": list(words),
        "prefix": [],
        "grid": [1, len(words)],
        "pin": "",
        "causal": causal,
        "top": float(attn.max()),
    }
    return pack(header, codes=codes, max=maxima)


def scale_end(attn: FloatArray) -> float:
    """Return the weight at the end of the colour scale, above nearly all weights."""
    seen: NDArray[np.floating] = attn[attn > 0]
    return float(np.quantile(seen, SHOWN_SHARE)) if seen.size else 1.0
