"""Class probabilities as bars, optionally beside what they were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack

_bars = register(__file__, "bars")


def bars(
    names: Sequence[str], now: np.ndarray, before: np.ndarray | None = None, *, strong: int = 0, key: str
) -> None:
    """Draws probabilities (n,), one row per name; `strong` is the row in the accent, `before` a mark in each bar."""
    arrays = {"now": now.astype(np.float32)}
    if before is not None:
        arrays["before"] = before.astype(np.float32)
    _bars(pack({"names": list(names), "strong": strong}, **arrays), key=key)
