"""Pack training curves of several runs, over three horizontal axes, for the browser."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import describe, pack

Split = Literal["train", "validation"]
METRICS: tuple[dict[str, Any], ...] = (
    {"name": "loss", "title": "Loss", "unit": "", "log": True, "splits": 2, "top": 2.5},
    {"name": "accuracy", "title": "Accuracy", "unit": "%", "log": False, "splits": 2},
    {"name": "learning_rate", "title": "Learning rate", "unit": "", "log": False, "splits": 1},
    {"name": "gradient_norm", "title": "Gradient norm", "unit": "", "log": True, "splits": 1},
    {"name": "images_per_second", "title": "Images per second", "unit": "", "log": False, "splits": 1},
)
# Of all runs' series of one split together, about as many as a panel has pixels: a moving image sends them four
# times a second, and eight runs must not cost eight times what one does.
MOST_POINTS = 400


@dataclass(frozen=True, eq=False)
class Series:
    """The records of one run on one split: `x` (3, n) holds step, epoch, seconds; `values` maps metric -> (n,).

    `ghost` names a line that is no run's of this page: it is drawn faintly behind them; where its seconds are not known
    they are NaN.
    """

    run: str
    split: Split
    x: NDArray[np.float64]
    values: Mapping[str, NDArray[np.float64]]
    ghost: str = ""
    images: int = 0  # behind each accuracy, which then has a band; 0 where none is drawn


@dataclass(frozen=True)
class RunLabel:
    """The label of a run in the figure; `total` bounds the axes."""

    id: str
    name: str
    color: str
    total: dict[str, float]
    best_step: float | None = None
    leads: bool = False
    changes: Sequence[tuple[int, str]] = ()  # (step, short label): what was changed while it trained


def thin(points: NDArray[np.float64], most: int = MOST_POINTS) -> NDArray[np.float64]:
    """Return at most `most` of the n columns of (rows, n), evenly spaced, including the first and the last."""
    if points.shape[1] <= most:
        return points
    return points[:, np.unique(np.linspace(0, points.shape[1] - 1, most).round().astype(int))]


def payload(
    runs: Sequence[RunLabel],
    series: Sequence[Series],
    focus: str | None,
    moment: float | None,
    view: Mapping[str, Any],
    *,
    film: bool = False,
) -> bytes:
    """Return the curves' message.

    Args:
        series: what they recorded, of METRICS.
        moment: its marked step, None for none.
        view: axis, smoothing, log, log_x and extra, as the image starts.
        film: what came after the marked moment is drawn faintly.
    """
    arrays: dict[str, NDArray[np.float32]] = {}
    most = MOST_POINTS // max(1, len(runs))
    for i, part in enumerate(series):
        rows = np.vstack([part.x, *part.values.values()])
        arrays[f"series{i}"] = thin(rows, most).astype(np.float32)
    header = {
        "runs": [describe(run) for run in runs],
        "series": [
            describe(part, "run", "split", "ghost", "images") | {"metrics": list(part.values)}
            for part in series
        ],
        "metrics": list(METRICS),
        "focus": focus,
        "moment": moment,
        "view": dict(view),
        "film": film,
    }
    return pack(header, **arrays)
