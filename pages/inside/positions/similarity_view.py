"""The similarity mosaic: every position's cosine with every other, one canvas per encoding, linked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.views.register import register

_CSS = """
.sim-stage { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.sim-stage > div { min-width: 0; }
.sim-title { font-weight: 600; min-height: 20px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.sim-note { color: var(--vv-muted); font-size: 0.8125rem; min-height: 20px; margin-bottom: 4px; white-space: nowrap;
  overflow: hidden; text-overflow: ellipsis; }
.sim-map { cursor: crosshair; touch-action: pan-y !important; }
.sim-foot { display: flex; flex-wrap: wrap; gap: 16px 24px; margin-top: 12px; align-items: flex-start; }
.sim-time { display: grid; grid-template-columns: auto 1fr auto; gap: 12px; align-items: center; margin-top: 8px; }
.sim-time span { min-width: 132px; }
.sim-told { margin-top: 4px; min-height: 20px; }
.sim-read { flex: 1; min-width: 150px; }
.sim-read div { min-height: 20px; }
.sim-pair { display: flex; gap: 12px; }
.sim-big { font-size: 1.25rem; font-weight: 600; }
"""
_similarity = register(__file__, "similarity_view", css=_CSS)


def similarity(payload: bytes, *, key: str, on_change: Callable[[], None] | None = None) -> Any:
    """Mounts the mosaics that `vitviz.plots.positions.mosaic` packed.

    A click triggers `pin`: [x, y] in [0, 1], the centre of the position that was chosen.
    """
    return _similarity(payload, key=key, triggers=("pin",), on_change=on_change)
