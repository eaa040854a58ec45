"""Draw the figures that many pages share: charts, bars, maps side by side, and a race of models."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pages.views.event_values import read_index
from pages.views.register import register
from vitviz.plots.blob import pack
from vitviz.plots.chart import Chart

_chart = register(__file__, "chart")
_bars = register(__file__, "bars")
_maps = register(__file__, "maps")
_race = register(__file__, "race")
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
    _bars(pack({"names": list(names), "strong": strong}, **arrays), key=key)


def draw_maps(message: bytes, *, key: str) -> int | None:
    """Draw `vitviz.plots.attention_message.maps_view`; return the patch that was clicked in this run."""
    return read_index(_maps(message, key=key, triggers=("pick",)).pick)


def draw_race(payload: bytes, *, key: str) -> None:
    _race(payload, key=key)
