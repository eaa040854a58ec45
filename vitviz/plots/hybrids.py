"""Pack a hybrid's stem for the browser."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.receptive_fields import enlarging
from vitviz.config import ViTConfig
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo


def pack_pipeline(
    photo: Photo,
    maps: Sequence[NDArray[np.floating]],
    tokens: NDArray[np.floating],
    patches: NDArray[np.floating],
    config: ViTConfig,
    pin: tuple[float, float],
    strides: Sequence[int],
    plain: tuple[str, NDArray[np.floating]] | None = None,
) -> bytes:
    """Pack a hybrid's stem for `pipeline_view.js`.

    Args:
        maps: (channels, rows, cols) after each convolution; a channel is sent in 255 levels of its own largest value.
        tokens: (N, D).
        patches: (N, values) of a plain ViT on the same image.
        pin: (x, y) in [0, 1] of the selected token.
        strides: of the convolutions; () as long as the receptive fields are hidden.
        plain: title and tokens (N, D) of a plain ViT on the same image.
    """
    levels: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for index, level in enumerate(maps):
        most = level.max(axis=(1, 2))
        scaled = level / np.where(most > 0, most, 1.0)[:, None, None]
        arrays[f"maps{index}"] = np.ceil(255 * scaled.clip(0, 1)).astype(np.uint8)  # 0 is what ReLU sets to 0
        strongest = np.argsort(-level.mean(axis=(1, 2)), kind="stable")
        levels.append({"order": strongest.tolist(), "most": [round(float(value), 3) for value in most]})
    header = {
        "levels": levels,
        "grid": list(config.grid),
        "dim": config.embed_dim,
        "patch": config.patch_size,
        "channels": config.in_chans,
        "pixels": list(config.image_shape),
        "factor": enlarging(config),
        "strides": list(strides),
        "pin": list(pin),
        "plain": plain[0] if plain else "",
    }
    if plain:
        arrays["plain"] = plain[1].astype(np.float32)
    pixels = np.round(255 * patches.clip(0, 1)).astype(np.uint8)
    small = tokens.astype(np.float32)
    return pack(header | photo.header, photo=photo.array, tokens=small, patches=pixels, **arrays)
