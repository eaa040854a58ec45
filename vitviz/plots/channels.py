"""Pack channels of a CNN's stages, with their strongest patches, for the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo, encode_photo

Uint8 = NDArray[np.uint8]
EXACT_PX = 16  # patches up to this side travel as they are, larger ones as JPEG leaves them


@dataclass(frozen=True, eq=False)
class Top:
    """One of a channel's strongest patches: pixels (s, s, 3), label, response, and image."""

    patch: Uint8
    name: str
    value: float
    picture: int


@dataclass(frozen=True, eq=False)
class Channel:
    """A channel (from 0): its map (rows, cols) of the chosen image, and its top patches.

    share: of the image's strongest response in the mean of the channel's strongest ones.
    """

    number: int
    map: NDArray[np.float32]
    share: float
    tops: Sequence[Top]


@dataclass(frozen=True, eq=False)
class Stage:
    """A few channels of one stage, and their heading."""

    title: str
    note: str
    channels: Sequence[Channel]


def channels_view(photo: Photo, stages: Sequence[Stage]) -> bytes:
    """Pack maps for `channels.js` in eight bits, each scaled to its maximum, with one sprite of patches per stage."""
    header: dict[str, Any] = {"stages": [_describe_stage(stage) for stage in stages], **photo.header}
    arrays: dict[str, NDArray[Any]] = {"photo": photo.array}
    for index, stage in enumerate(stages):
        arrays[f"maps{index}"] = np.stack([_codes(channel.map) for channel in stage.channels])
        patches = np.stack([np.stack([top.patch for top in channel.tops]) for channel in stage.channels])
        kind, arrays[f"patches{index}"] = sprite(patches)
        header["stages"][index] |= {"kind": kind, "side": patches.shape[2], "tops": patches.shape[1]}
    return pack(header, **arrays)


def _describe_stage(stage: Stage) -> dict[str, Any]:
    return {
        "title": stage.title,
        "note": stage.note,
        "grid": list(stage.channels[0].map.shape),
        "channels": [
            {
                "number": channel.number,
                "share": channel.share,
                "most": float(channel.map.max()),
                "names": [top.name for top in channel.tops],
                "values": [top.value for top in channel.tops],
                "pictures": [top.picture for top in channel.tops],
            }
            for channel in stage.channels
        ],
    }


def _codes(map_: NDArray[np.float32]) -> Uint8:
    most = float(map_.max())
    return np.asarray(np.rint(255 * map_.clip(0) / most) if most > 0 else np.zeros_like(map_), np.uint8)


def sprite(patches: Uint8) -> tuple[str, Uint8]:
    """Return patches (rows, cols, s, s, 3) as one file: media type and bytes."""
    rows, cols, side = patches.shape[:3]
    mosaic = patches.transpose(0, 2, 1, 3, 4).reshape(rows * side, cols * side, 3)
    exact_px = max(mosaic.shape) if side <= EXACT_PX else 0
    photo = encode_photo(mosaic, exact_px, subsampling=0)
    return photo.kind, photo.array
