"""Pack two images with cells over them for the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_similarity import Matches
from vitviz.plots.blob import pack
from vitviz.plots.layers import cosine_codes
from vitviz.plots.photo import Photo


@dataclass(frozen=True)
class Fact:
    """A number of every cell that the pointer reads: its name, decimals and unit."""

    name: str
    digits: int = 0
    unit: str = ""


@dataclass(frozen=True, eq=False)
class PairFrame:
    """A grid of cells, over an image or alone.

    colours: (rows, cols, 4) uint8; None for signed values, which the browser colours around zero.
    values: (facts, rows * cols) float32, NaN for none; signed values are the first fact's.
    span: the signed value of the ramp's ends.
    row_names, col_names: labels of a grid without an image.
    """

    title: str
    grid: tuple[int, int]
    facts: Sequence[Fact]
    values: NDArray[np.float32]
    photo: Photo | None = None
    colours: NDArray[np.uint8] | None = None
    span: float = 0.0
    row_names: Sequence[str] = ()
    col_names: Sequence[str] = ()


def photo_frame(title: str, photo: Photo) -> PairFrame:
    """Return a frame that shows an image without cells."""
    return PairFrame(title, (1, 1), (), np.empty((0, 1), np.float32), photo, np.zeros((1, 1, 4), np.uint8))


def pack_frames(frames: Sequence[PairFrame], legend: Sequence[str] = ()) -> bytes:
    """Pack frames for `frames.js`, in order.

    Args:
        legend: words at the ends and in the middle of the ramp of signed values.
    """
    arrays: dict[str, NDArray[Any]] = {}
    described = []
    for index, frame in enumerate(frames):
        arrays[f"values{index}"] = np.asarray(frame.values, np.float32)
        if frame.colours is not None:
            arrays[f"colours{index}"] = frame.colours
        if frame.photo is not None:
            arrays[f"photo{index}"] = frame.photo.array
        described.append(
            {
                "title": frame.title,
                "grid": list(frame.grid),
                "facts": [[fact.name, fact.digits, fact.unit] for fact in frame.facts],
                "photo": None if frame.photo is None else frame.photo.header["photo"],
                "span": float(frame.span),
                "rows": list(frame.row_names),
                "cols": list(frame.col_names),
            }
        )
    return pack({"frames": described, "legend": list(legend)}, **arrays)


def pack_matches(
    titles: tuple[str, str],
    photos: tuple[Photo, Photo],
    pin: str,
    grids: tuple[tuple[int, int], tuple[int, int]],
    layer: int,
    cosines: NDArray[np.float64],
    matches: Matches,
    count: int,
) -> bytes:
    """Pack two images and the cosines between their patches for `match.js`.

    Args:
        grids: rows and columns of both images' patches.
        layer: index of the layer.
        cosines: (N, M) of the layer.
        matches: its mutual nearest neighbours.
        count: how many of them, at most, are drawn as lines.
    """
    header = {
        "frames": [
            {"title": title, "grid": list(grids[side]), "photo": photos[side].header["photo"]}
            for side, title in enumerate(titles)
        ],
        "pin": pin,
        "layer": layer,
        "count": count,
        "legend": ["\N{MINUS SIGN}1", "cosine to the selected patch", "1"],
    }
    return pack(
        header,
        photo0=photos[0].array,
        photo1=photos[1].array,
        cosines=cosine_codes(cosines),
        pairs=np.stack([matches.first, matches.second], axis=1).astype(np.int32),
    )
