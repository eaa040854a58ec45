"""Pack filters as tiles over training, and patches rebuilt from components, for the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.filters import FloatArray, Rebuilding, to_bytes
from vitviz.plots.blob import pack
from vitviz.plots.training_moments import TrainingMoments


@dataclass(frozen=True, eq=False)
class Sheet:
    """One model's tiles: components or filters per moment, with each component's share of the variance."""

    title: str
    note: str
    maps: FloatArray  # (moments, k, C, P, P)
    shares: FloatArray | None = None  # (moments, k); None for raw filters
    told: Sequence[str] = ("",)  # one computed sentence per moment
    training: TrainingMoments | None = None


def tiles(
    sheets: Sequence[Sheet], columns: int, frame: int = 0, word: str = "component", *, summed: bool = True
) -> bytes:
    """Return the component data of one or more sheets of tiles; each tile is scaled to its own range.

    Args:
        sheets: the models, each with its tiles over time.
        summed: whether a tile says what it and those before it explain together.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for index, sheet in enumerate(sheets):
        arrays[f"tiles{index}"], ends = to_bytes(sheet.maps)
        arrays[f"ends{index}"] = np.ascontiguousarray(ends, np.float32)
        if sheet.shares is not None:
            arrays[f"shares{index}"] = np.ascontiguousarray(sheet.shares, np.float32)
    header = {"sheets": list(sheets), "columns": columns, "frame": frame, "word": word, "summed": summed}
    return pack(header, **arrays)


def rebuilding(
    shown: NDArray[np.uint8],
    patch_px: int,
    rebuilt: Sequence[tuple[str, str, Rebuilding]],
    scale: FloatArray,
    shift: FloatArray,
    k: int,
    patch: int,
) -> bytes:
    """Return the component data of an image rebuilt from the first k components of several bases.

    Args:
        shown: (S, S, 3) uint8, the image.
        patch_px: P.
        rebuilt: (title, note, rebuilding) of each basis.
        scale, shift: (C,), a normalised value v of channel c is the level 255 * (v * scale + shift).
    """
    arrays: dict[str, NDArray[Any]] = {"shown": np.ascontiguousarray(shown, np.uint8)}
    described = []
    for index, (title, note, patches) in enumerate(rebuilt):
        arrays[f"basis{index}"] = patches.basis.reshape(len(patches.basis), -1).astype(np.float32)
        arrays[f"coefficients{index}"] = patches.coefficients.astype(np.float32)
        arrays[f"error{index}"] = patches.error.astype(np.float32)
        described.append({"title": title, "note": note})
    arrays["mean"] = rebuilt[0][2].mean.astype(np.float32).ravel()
    header = {
        "patch": patch_px,
        "bases": described,
        "scale": [float(v) for v in scale],
        "shift": [float(v) for v in shift],
        "k": k,
        "most": max(len(patches.basis) for _, _, patches in rebuilt),
        "pin": patch,
    }
    return pack(header, **arrays)
