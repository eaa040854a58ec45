"""Read one parameter at every snapshot without loading the rest of the files."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pages.stores import catalogue
from pages.stores.model_choice import ModelChoice

FloatArray = NDArray[np.float32]


def read_parameter(choice: ModelChoice, name: str) -> list[tuple[int, FloatArray]]:
    """Return (step, values) of a parameter at every snapshot; empty if the file or name is missing."""
    tensors = ((step, read_tensor(choice, step, name)) for step in choice.steps)
    return [(step, values) for step, values in tensors if values is not None]


def read_tensor(choice: ModelChoice, step: int, name: str) -> FloatArray | None:
    """Return a parameter at a step; None if the file or name is missing."""
    path = catalogue.find_weights_file(choice, step)
    try:
        return None if path is None else _read_tensor(path, path.stat().st_mtime_ns, step, name)
    except OSError:  # the run is being deleted
        return None


def select_steps(steps: tuple[int, ...], shown: int, most: int) -> tuple[int, ...]:
    """Return evenly spaced steps, at most `most` and the shown one, with the first and the last."""
    indices = np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int)
    return tuple(sorted({*(steps[index] for index in indices), shown}))


def compute_start_frame(films: list[tuple[int, int]]) -> int:
    """Return the start of a slider over several films: the first real film's frame on the longest scale.

    Args:
        films: (number of snapshots, start frame) of each, in order of priority.
    """
    longest = max(count for count, _ in films)
    count, frame = next((film for film in films if film[0] > 1), (2, 0))
    return round(frame * (longest - 1) / (count - 1))


def compute_frames(shared: int, counts: list[int]) -> list[int]:
    """Return the frame of each film at a shared frame, by their numbers of snapshots."""
    longest = max(counts)
    return [int(shared * (count - 1) / max(1, longest - 1) + 0.5) for count in counts]


def describe_steps(choice: ModelChoice, steps: list[int]) -> list[str]:
    per_step = _epochs_per_step(choice)
    if per_step is None:
        return [f"step {step:,}" for step in steps]
    return [f"step {step:,} · epoch {step * per_step:.3g}" for step in steps]


def _epochs_per_step(choice: ModelChoice) -> float | None:
    if choice.path is None or not choice.path.is_file():
        return None
    try:
        history = catalogue.read_header(choice.path).history
    except ValueError:
        return None
    last = next((r for r in reversed(history) if r.get("step") and "epoch" in r), None)
    return None if last is None else float(last["epoch"]) / float(last["step"])


@lru_cache(maxsize=512)
def _read_tensor(path: Path, modified_ns: int, step: int, name: str) -> FloatArray | None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            key = f"{step}/{name}"
            return np.asarray(file.get_tensor(key), np.float32) if key in file.keys() else None
    except SafetensorError:  # damaged
        return None
