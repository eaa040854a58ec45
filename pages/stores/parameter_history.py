"""One parameter through a training: what it was at every snapshot, read without the rest of the file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pages.stores import catalogue
from pages.stores.model_choice import ModelChoice

FloatArray = NDArray[np.float32]


def parameter(choice: ModelChoice, name: str) -> list[tuple[int, FloatArray]]:
    """(step, values) of a parameter at every snapshot; empty where there is no file or no such name."""
    found = []
    for step in choice.steps:
        path = catalogue.file_of(choice, step)
        if path is None:
            return []
        try:
            values = _read(path, path.stat().st_mtime_ns, step, name)
        except OSError:  # a run that is being deleted
            continue
        if values is not None:
            found.append((step, values))
    return found


def last(choice: ModelChoice, name: str) -> FloatArray | None:
    """A parameter at the last snapshot of a file, without the others; None where there is no file or no such name."""
    path = catalogue.file_of(choice, choice.last_step)
    return None if path is None else _read(path, path.stat().st_mtime_ns, choice.last_step, name)


def shared_frame(films: list[tuple[int, int]]) -> int:
    """Where a slider over several films starts: at the first real film's frame, on the scale of the longest.

    Args:
        films: (number of moments, the frame to show) of each, the one that decides first.
    """
    longest = max(count for count, _ in films)
    count, frame = next((film for film in films if film[0] > 1), (2, 0))
    return round(frame * (longest - 1) / (count - 1))


def frames_at(shared: int, counts: list[int]) -> list[int]:
    """The frame of each film, by its number of moments, that the slider shows at a shared frame."""
    longest = max(counts)
    return [int(shared * (count - 1) / max(1, longest - 1) + 0.5) for count in counts]


def moments(choice: ModelChoice, steps: list[int]) -> list[str]:
    """The steps in words, with the epoch where the file knows it."""
    per_step = _epochs_per_step(choice)
    if per_step is None:
        return [f"step {step:,}" for step in steps]
    return [f"step {step:,} · epoch {step * per_step:.3g}" for step in steps]


def _epochs_per_step(choice: ModelChoice) -> float | None:
    if choice.path is None or not choice.path.is_file():
        return None
    try:
        history = catalogue.header(choice.path).history
    except ValueError:
        return None
    last = next((r for r in reversed(history) if r.get("step") and "epoch" in r), None)
    return None if last is None else float(last["epoch"]) / float(last["step"])


@lru_cache(maxsize=512)
def _read(path: Path, modified_ns: int, step: int, name: str) -> FloatArray | None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            key = f"{step}/{name}"
            return np.asarray(file.get_tensor(key), np.float32) if key in file.keys() else None
    except SafetensorError:  # damaged
        return None
