"""What a training recorded, as arrays: of a run, or of the history that a checkpoint carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

STEP_METRICS = ("loss", "accuracy", "learning_rate", "gradient_norm", "images_per_second")
EVALUATION_METRICS = ("loss", "accuracy")
Record = Mapping[str, Any]


class Records:
    """Records by kind, in the order in which they were taken."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.clear()
        for record in records:
            self.take(record)

    def clear(self) -> None:
        """Forgets every record."""
        self._steps: list[tuple[float, ...]] = []
        self._evaluations: list[tuple[float, ...]] = []
        self.snapshots: dict[int, tuple[float, float]] = {}  # step -> (epoch, seconds)
        self.events: list[Record] = []
        self.shuffled: list[Record] = []  # of an experiment's members
        self.test: Record | None = None

    def goes_back(self, records: Iterable[Record]) -> bool:
        """Whether these begin before the last that was taken: a run has resumed from an earlier step."""
        last = self._steps[-1][0] if self._steps else -1.0
        return any(r.get("kind") == "step" and _number(r.get("step", 0)) <= last for r in records)

    def take(self, record: Record) -> None:
        """Takes in one record."""
        kind = record.get("kind")
        place = tuple(_number(record.get(name) or 0.0) for name in ("step", "epoch", "seconds"))
        if not np.isfinite(place).all():  # a torn disk wrote it; a trainer does not
            return
        if kind == "step":
            self._steps.append((*place, *(_number(record.get(name)) for name in STEP_METRICS)))
        elif kind == "evaluation" and record.get("split") == "validation":
            self._evaluations.append((*place, *(_number(record.get(name)) for name in EVALUATION_METRICS)))
        elif kind == "evaluation":
            self.test = record
        elif kind == "snapshot":
            self.snapshots[int(place[0])] = (place[1], place[2])
        elif kind == "event":
            self.events.append(record)
        elif kind == "shuffled":
            self.shuffled.append(record)

    def training(self) -> np.ndarray:
        """(3 + metrics, n): step, epoch, seconds, then STEP_METRICS."""
        return _table(self._steps, 3 + len(STEP_METRICS))

    def validation(self) -> np.ndarray:
        """(3 + metrics, n): step, epoch, seconds, then EVALUATION_METRICS."""
        return _table(self._evaluations, 3 + len(EVALUATION_METRICS))

    def best(self) -> tuple[int, float] | None:
        """(step, accuracy) of the best validation, the earliest of equals."""
        table = self.validation()
        if not table.shape[1]:
            return None
        at = int(np.argmax(table[-1]))
        return int(table[0, at]), float(table[-1, at])


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


def _table(rows: Sequence[tuple[float, ...]], height: int) -> np.ndarray:
    return np.array(rows[:], dtype=np.float64).reshape(-1, height).T
