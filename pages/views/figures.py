"""Draw the figures that many pages share: charts, bars, grids of cells, and a race of models."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack
from vitviz.plots.chart import Chart

_chart = register(__file__, "chart")
_bars = register(__file__, "bars")
_heat_grid = register(__file__, "heat_grid")
_race = register(__file__, "race", "race", "chart")
RACE_MATH = str(Path(__file__).with_name("race.md"))  # for `page.read_math`


def draw_chart(chart: Chart, key: str) -> None:
    """Draw a chart and reserve its height while its code loads."""
    _chart(chart.pack(), key=key, height=chart.height)


def draw_bars(
    names: Sequence[str],
    probabilities: np.ndarray,
    before: np.ndarray | None = None,
    *,
    strong: int = 0,
    key: str,
) -> None:
    """Draw probabilities (n,), one row per name; `strong` is the highlighted row, `before` a mark in each bar."""
    arrays = {"now": probabilities.astype(np.float32)}
    if before is not None:
        arrays["before"] = before.astype(np.float32)
    _bars(pack({"names": list(names), "strong": strong, "key": key}, **arrays), key=key)


def draw_heat_grid(message: bytes, *, key: str, on_pin: Callable[[], None] | None = None) -> None:
    """Draw a message of `vitviz.plots.heat_grid`; `on_pin` is called after a click on a patch."""
    _heat_grid(message, key=key, triggers=("pin",), on_change=on_pin)


def draw_race(payload: bytes, *, key: str) -> None:
    _race(payload, key=key)
