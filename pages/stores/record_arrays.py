"""Parse training records into arrays, from a run or a checkpoint's history."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

STEP_METRICS = ("loss", "accuracy", "learning_rate", "gradient_norm", "images_per_second")
EVALUATION_METRICS = ("loss", "accuracy")
LoadedRecord = Mapping[str, Any]


class Records:
    def __init__(self, records: Iterable[LoadedRecord] = ()) -> None:
        self.clear()
        for record in records:
            self.add(record)

    def clear(self) -> None:
        self._steps: list[tuple[float, ...]] = []
        self._evaluations: list[tuple[float, ...]] = []
        self.snapshots: dict[int, tuple[float, float]] = {}  # step -> (epoch, seconds)
        self.events: list[LoadedRecord] = []
        self.shuffled: list[LoadedRecord] = []  # of an experiment's members
        self.test: LoadedRecord | None = None
        self.images = 0  # of the newest validation

    def is_rewound(self, records: Iterable[LoadedRecord]) -> bool:
        """Return True if these records start before the last one: the run resumed from an earlier step."""
        last = self._steps[-1][0] if self._steps else -1.0
        return any(r.get("kind") == "step" and _to_float(r.get("step", 0)) <= last for r in records)

    def add(self, record: LoadedRecord) -> None:
        kind = record.get("kind")
        place = tuple(_to_float(record.get(name) or 0.0) for name in ("step", "epoch", "seconds"))
        if not np.isfinite(place).all():  # written by a damaged disk, not by a trainer
            return
        if kind == "step":
            self._steps.append((*place, *(_to_float(record.get(name)) for name in STEP_METRICS)))
        elif kind == "evaluation" and record.get("split") == "validation":
            self._evaluations.append((*place, *(_to_float(record.get(name)) for name in EVALUATION_METRICS)))
            images = _to_float(record.get("images") or 0.0)
            self.images = int(images) if 0 < images < np.inf else 0
        elif kind == "evaluation":
            self.test = record
        elif kind == "snapshot":
            self.snapshots[int(place[0])] = (place[1], place[2])
        elif kind == "event":
            self.events.append(record)
        elif kind == "shuffled":
            self.shuffled.append(record)

    def training(self) -> np.ndarray:
        """Return (3 + metrics, n): step, epoch, seconds, then STEP_METRICS."""
        return _to_array(self._steps, 3 + len(STEP_METRICS))

    def validation(self) -> np.ndarray:
        """Return (3 + metrics, n): step, epoch, seconds, then EVALUATION_METRICS."""
        return _to_array(self._evaluations, 3 + len(EVALUATION_METRICS))

    def best(self) -> tuple[int, float] | None:
        """Return (step, accuracy) of the best validation, the earliest of ties."""
        table = self.validation()
        if not table.shape[1]:
            return None
        at = int(np.argmax(table[-1]))
        return int(table[0, at]), float(table[-1, at])


def _to_float(field: object) -> float:
    return float(field) if isinstance(field, int | float) else float("nan")


def _to_array(rows: Sequence[tuple[float, ...]], height: int) -> np.ndarray:
    return np.array(rows[:], dtype=np.float64).reshape(-1, height).T
