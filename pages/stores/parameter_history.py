"""Read one parameter at every snapshot, or at every moment of a recorded training, without loading the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pages.stores import catalogue, recorded_runs
from pages.stores.model_choice import ModelChoice
from vitviz.growth import Growth, find_growth, load_growth
from vitviz.plots.training_moments import TrainingMoments
from vitviz.text import percent

FloatArray = NDArray[np.float32]
_RECORDED = {"pos_embed": "positions", "patch_embed.proj.weight": "embedding"}


@dataclass(frozen=True, eq=False)
class ParameterHistory:
    """A parameter at every moment, with the index of the shown one.

    Attributes:
        training: the moments; None of a single value.
        note: how the training differs from the model's own; '' if it is the same.
    """

    values: Sequence[FloatArray]
    shown: int = 0
    training: TrainingMoments | None = None
    note: str = ""

    @property
    def selected(self) -> FloatArray:
        """The shown value."""
        return self.values[self.shown]

    @property
    def moment(self) -> str:
        """The shown moment in words; '' of a single value."""
        return "" if self.training is None else self.training.name(self.shown)

    def subtract_first(self) -> "ParameterHistory":
        """Return the change since the first moment; needs two moments or more."""
        changes = [values - self.values[0] for values in self.values[1:]]
        training = None if self.training is None else self.training.without_first()
        return replace(self, values=changes, shown=max(0, self.shown - 1), training=training)


def find_recorded(choice: ModelChoice, step: int | None = None) -> Growth | None:
    """Return the recorded training of a shipped model; None if there is none, or if its file is damaged.

    Args:
        choice: the model.
        step: the step that is shown (None: the last). Only the last one can follow the recorded training of another
            run: an earlier one is shown among the model's own snapshots.
    """
    path = find_growth(choice.path.stem) if choice.key.startswith("checkpoint:") and choice.path else None
    try:
        growth = None if path is None else load_growth(path)
    except (OSError, ValueError):
        return None
    is_own = growth is not None and growth.is_shipped
    return growth if is_own or step in (None, choice.last_step) else None


def describe_recorded(choice: ModelChoice, growth: Growth) -> str:
    """Return how a recorded training differs from the model's own; '' if it is the same."""
    if growth.is_shipped:
        return ""
    epochs = get_epoch(choice, choice.last_step)
    length = f"{growth.epochs[-1]:.0f} epochs" + (f" instead of {epochs:.0f}" if epochs else "")
    accuracy = "" if choice.accuracy is None else f" instead of {percent(choice.accuracy)}"
    return (
        f"Play shows a second training of the same recipe: {length}, test accuracy"
        f" {percent(growth.test_accuracy)}{accuracy}."
    )


def read_history(choice: ModelChoice, name: str, step: int) -> ParameterHistory | None:
    """Return a parameter at the moments of the model's recorded training, else at its snapshots; None if missing.

    A recorded training of another run is followed by the last step of the model itself.
    """
    growth = find_recorded(choice, step)
    if growth is None or name not in _RECORDED:
        history = read_parameter(choice, name)
        if not history:
            return None
        steps = [moment for moment, _ in history]
        moments = TrainingMoments(steps, list_epochs(choice, steps), len(steps))
        return ParameterHistory([values for _, values in history], _find_nearest(steps, step), moments)
    own, note = read_tensor(choice, step, name), describe_recorded(choice, growth)
    values = [*getattr(growth, _RECORDED[name])]
    moments = list_moments(growth)
    if own is None or (growth.is_shipped and step in moments.steps):
        return ParameterHistory(values, _find_nearest(moments.steps, step), moments, note)
    moments, place = moments.insert(step, get_epoch(choice, step), growth.is_shipped)
    values.insert(place, own.reshape(values[0].shape))
    return ParameterHistory(values, place, moments, note)


def list_moments(growth: Growth) -> TrainingMoments:
    """Return the moments of a recorded training."""
    steps, note = growth.steps.tolist(), "" if growth.is_shipped else "a second training of the same recipe"
    return TrainingMoments(steps, growth.epochs.tolist(), len(steps), note)


def get_epoch(choice: ModelChoice, step: int) -> float:
    """Return a step's epoch; 0 if the model's file does not say how long one is."""
    return (list_epochs(choice, [step]) or [0.0])[0]


def _find_nearest(steps: Sequence[int], step: int) -> int:
    return int(np.abs(np.array(steps) - step).argmin())


def read_parameter(choice: ModelChoice, name: str) -> list[tuple[int, FloatArray]]:
    """Return (step, values) of a parameter at every snapshot; empty if the file or name is missing."""
    tensors = ((step, read_tensor(choice, step, name)) for step in choice.steps)
    return [(step, values) for step, values in tensors if values is not None]


def read_tensor(choice: ModelChoice, step: int, name: str) -> FloatArray | None:
    """Return a parameter at a step; None if the file or name is missing."""
    path = catalogue.find_weights_file(choice, step)
    if path is None and recorded_runs.is_recorded(choice):
        return recorded_runs.read_table(choice, step, name)
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


def share_slider(
    histories: Sequence[ParameterHistory], first: ParameterHistory
) -> tuple[int, list[ParameterHistory]]:
    """Return the start of a slider over several histories, and each of them at it; `first` has priority."""
    frame = compute_start_frame([(len(each.values), each.shown) for each in (first, *histories)])
    longest = max(len(history.values) for history in histories)
    places = [int(frame * (len(each.values) - 1) / max(1, longest - 1) + 0.5) for each in histories]
    return frame, [replace(each, shown=place) for each, place in zip(histories, places, strict=True)]


def list_epochs(choice: ModelChoice, steps: list[int]) -> list[float]:
    """Return the epoch of every step; empty if the model's file does not say how long one is."""
    per_step = _epochs_per_step(choice)
    return [] if per_step is None else [step * per_step for step in steps]


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
