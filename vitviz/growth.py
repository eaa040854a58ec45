"""Read what changes in the training of a shipped model: its tables, distances, norms and attention at 32 steps."""

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
# Written by vitviz/experiments/growth_recording.py, which commit a452c107 has.
FOLDER = Path(__file__).resolve().parents[1] / "checkpoints" / "growth"
WEIGHT_LEVELS = 127.0  # of an attention weight, as the square root of its share of the row's largest
_HALVES = ("positions", "embedding", "distance_px", "distance_sd", "norms", "probabilities")


@dataclass(frozen=True, eq=False)
class Growth:
    """A recorded training of a ViT with S moments, the first one before its first update.

    Attributes:
        steps: (S,) ascending.
        epochs: (S,).
        test_accuracy: at the last step.
        commit, machine: of the training.
        is_shipped: True if the last moment's weights are those of the shipped checkpoint.
        positions: (S, tokens, D), the position table.
        embedding: (S, D, C, P, P), the filters of E.
        distance_px, distance_sd: (S, layers, heads), mean and standard deviation over `images` test images.
        probabilities: (S, n, classes) of the training's first n validation images.
        norms: (S, layers, groups) of `vitviz.analysis.sinks.summarise_norms`.
        image: key of the test image with the whole attention.
        rows: (S, layers, heads, tokens, tokens) uint8, with `peaks` (S, layers, heads, tokens) its attention.
        further: keys of images with the attention of [CLS] and of the central patch.
        further_rows, further_peaks: (S, images, 2, layers, heads, tokens) uint8, and without the last axis.
    """

    steps: NDArray[np.int64]
    epochs: FloatArray
    test_accuracy: float
    commit: str
    machine: str
    is_shipped: bool
    positions: FloatArray
    embedding: FloatArray
    distance_px: FloatArray
    distance_sd: FloatArray
    images: int
    probabilities: FloatArray
    norms: FloatArray
    image: str
    rows: NDArray[np.uint8]
    peaks: FloatArray
    further: tuple[str, ...]
    further_rows: NDArray[np.uint8]
    further_peaks: FloatArray

    def attention(self, image: str, token: int) -> FloatArray | None:
        """Return the attention (S, layers, heads, tokens) of a query of an image; None if it is not stored."""
        if image == self.image:
            return unpack_rows(self.rows[..., token, :], self.peaks[..., token])
        grid = math.isqrt(self.rows.shape[-1] - 1)
        tokens = [0, 1 + grid // 2 * grid + grid // 2]
        if image not in self.further or token not in tokens:
            return None
        place = (slice(None), self.further.index(image), tokens.index(token))
        return unpack_rows(self.further_rows[place], self.further_peaks[place])


def unpack_rows(codes: NDArray[np.uint8], peaks: FloatArray) -> FloatArray:
    """Return attention (..., tokens) from codes and each row's largest weight (...), within 0.8 % of it."""
    weights: FloatArray = (codes.astype(np.float32) / WEIGHT_LEVELS) ** 2 * peaks[..., None].astype(
        np.float32
    )
    return weights


def find_growth(name: str) -> Path | None:
    """Return the file of a shipped model's recorded training; None if there is none."""
    path = FOLDER / f"{name}.npz"
    return path if path.is_file() else None


def load_growth(path: Path) -> Growth:
    """Read a recorded training.

    Raises:
        ValueError: if the file is damaged.
    """
    return _load_growth(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load_growth(path: Path, modified_ns: int) -> Growth:
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
            values: dict[str, Any] = {name: file[name] for name in file.files}
        for name in _HALVES:
            values[name] = values[name].astype(np.float32)
        for name in ("test_accuracy", "commit", "machine", "is_shipped", "images", "image"):
            values[name] = values[name].item()
        values["rows"] = np.cumsum(values["rows"], axis=0, dtype=np.uint8)
        return Growth(**values | {"further": tuple(values["further"].tolist())})
    except (KeyError, TypeError, ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error
