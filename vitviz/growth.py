"""Read what changes in the training of a shipped model: its tables, distances, norms and attention at 32 steps."""

import json
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
FOLDER = (
    Path(__file__).resolve().parents[1] / "checkpoints" / "growth"
)  # written by vitviz.experiments.growth_recording
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
        history: the training's records, thinned; of a training that is not the shipped checkpoint's.
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
    history: tuple[dict[str, Any], ...] = ()

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


def pack_rows(attention: FloatArray) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Return attention (..., tokens) as codes uint8, and each row's largest weight (...)."""
    peaks = attention.max(axis=-1).astype(np.float16)
    shares = attention / np.maximum(peaks[..., None].astype(np.float32), 1e-7)
    return np.rint(WEIGHT_LEVELS * np.sqrt(np.minimum(shares, 1.0))).astype(np.uint8), peaks


def unpack_rows(codes: NDArray[np.uint8], peaks: FloatArray) -> FloatArray:
    """Return the attention of `pack_rows`, within 0.8 % of each row's largest weight."""
    weights: FloatArray = (codes.astype(np.float32) / WEIGHT_LEVELS) ** 2 * peaks[..., None].astype(
        np.float32
    )
    return weights


def choose_moments(parts: list[FloatArray], count: int) -> NDArray[np.int64]:
    """Return the indices of `count` moments between which about the same changes, with the first and the last.

    Args:
        parts: quantities (moments, ...); each counts by its change relative to its whole path.
    """
    moments = len(parts[0])
    path = np.zeros(moments)
    for part in parts:
        moves = np.linalg.norm(np.diff(part.reshape(moments, -1).astype(np.float64), axis=0), axis=1)
        path[1:] += np.cumsum(moves) / max(float(moves.sum()), 1e-12)
    wanted = np.linspace(0, path[-1], min(count, moments))
    chosen: list[int] = []
    for place, goal in enumerate(wanted):
        least = chosen[-1] + 1 if chosen else 0
        most = moments - (len(wanted) - place)
        chosen.append(int(np.clip(np.abs(path - goal).argmin(), least, most)))
    return np.array([*chosen[:-1], moments - 1])


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
        values["further"] = tuple(values["further"].tolist())
        values["history"] = tuple(json.loads(values["history"].item())) if "history" in values else ()
        return Growth(**values)
    except (KeyError, TypeError, ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error


def save_growth(path: Path, growth: Growth) -> None:
    """Write a recorded training; tables in half precision."""
    values: dict[str, Any] = dict(vars(growth))
    for name in _HALVES:
        values[name] = np.asarray(values[name], np.float16)
    values["further"] = np.array(growth.further)
    values["history"] = np.array(json.dumps(growth.history))
    # Differences between moments are small numbers, which compress better; uint8 wraps around.
    values["rows"] = np.diff(growth.rows, axis=0, prepend=np.zeros_like(growth.rows[:1]))
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, allow_pickle=False, **values)
