"""Mount class probabilities as bars, optionally with the probabilities before a change."""

from collections.abc import Sequence

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack

_bars = register(__file__, "bars")


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
