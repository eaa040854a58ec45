"""Training curves as data for the browser's own drawing: lines of several runs over three horizontal axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import pack

Split = Literal["train", "validation"]
METRICS: tuple[dict[str, Any], ...] = (
    {"name": "loss", "title": "Loss", "unit": "", "log": True, "splits": 2, "top": 2.5},
    {"name": "accuracy", "title": "Accuracy", "unit": "%", "log": False, "splits": 2},
    {"name": "learning_rate", "title": "Learning rate", "unit": "", "log": False, "splits": 1},
    {"name": "gradient_norm", "title": "Gradient norm", "unit": "", "log": True, "splits": 1},
    {"name": "images_per_second", "title": "Images per second", "unit": "", "log": False, "splits": 1},
)
MOST_POINTS = 1200  # of a line: more than a screen has pixels for


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity of one run: `points` (4, n) holds step, epoch, seconds and the value."""

    run: str
    metric: str
    split: Split
    points: NDArray[np.float64]


@dataclass(frozen=True)
class RunLabel:
    """What the picture says about one run; `total` bounds the axes that are known beforehand."""

    id: str
    name: str
    color: int
    total: dict[str, float]
    best_step: float | None = None
    leads: bool = False


def thin(points: NDArray[np.float64], most: int = MOST_POINTS) -> NDArray[np.float64]:
    """At most `most` of the n points (4, n), evenly picked; the first and the last always stay."""
    if points.shape[1] <= most:
        return points
    return points[:, np.unique(np.linspace(0, points.shape[1] - 1, most).round().astype(int))]


def payload(
    runs: list[RunLabel],
    lines: list[Line],
    focus: str | None,
    moment: float | None,
    view: dict[str, Any],
) -> bytes:
    """The curves' message.

    Args:
        runs: in the order of their labels.
        lines: their quantities; a metric that METRICS does not name is an error.
        focus: the run whose moment is marked.
        moment: its marked step, None for none.
        view: axis, smoothing, log, log_x and extra, as the picture starts.

    Raises:
        ValueError: if a line's metric is unknown or its points are not (4, n).
    """
    known = {metric["name"] for metric in METRICS}
    for line in lines:
        if line.metric not in known:
            raise ValueError(f"metric must be one of {', '.join(sorted(known))}, received {line.metric!r}")
        if line.points.ndim != 2 or line.points.shape[0] != 4:
            raise ValueError(f"points must be (4, n), received {line.points.shape}")
    header = {
        "runs": [
            {
                "id": run.id,
                "name": run.name,
                "color": run.color,
                "total": run.total,
                "best": None if run.best_step is None else {"step": run.best_step},
                "leads": run.leads,
            }
            for run in runs
        ],
        "lines": [{"run": line.run, "metric": line.metric, "split": line.split} for line in lines],
        "metrics": list(METRICS),
        "focus": focus,
        "moment": moment,
        "view": view,
    }
    arrays = {f"line{i}": thin(line.points).astype(np.float64) for i, line in enumerate(lines)}
    return pack(header, **arrays)
