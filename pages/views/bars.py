"""Class probabilities as bars, optionally beside what they were."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack

_bars = register(
    __file__,
    "bars",
    css="""
.vv .ab-row { display: flex; align-items: center; gap: 8px; min-height: 24px; }
.vv .ab-name { flex: 0 0 min(34%, 160px); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.vv .ab-track { position: relative; flex: 1; height: 12px; background: var(--vv-panel); border-radius: 2px; }
.vv .ab-track i { position: absolute; inset: 0 auto 0 0; background: var(--vv-muted); border-radius: 2px; }
.vv .ab-track i.ab-strong { background: var(--st-primary-color); }
.vv .ab-track b { position: absolute; top: -3px; bottom: -3px; width: 2px; background: var(--st-text-color); }
.vv .ab-value { flex: 0 0 56px; text-align: right; }
.vv .ab-down { color: #1B4F8F; } .vv .ab-up { color: #A6540B; }
@media (prefers-reduced-motion: no-preference) { .vv .ab-track i { transition: width 200ms ease-in-out; } }
""",
)


def bars(
    names: Sequence[str], now: np.ndarray, before: np.ndarray | None = None, *, strong: int = 0, key: str
) -> None:
    """Draws probabilities (n,), one row per name; `strong` is the row in the accent, `before` a mark in each bar."""
    arrays = {"now": now.astype(np.float32)}
    if before is not None:
        arrays["before"] = before.astype(np.float32)
    _bars(pack({"names": list(names), "strong": strong}, **arrays), key=key)
