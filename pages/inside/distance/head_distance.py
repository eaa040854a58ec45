"""Heads against depth: hover shows where a head looks around its query, a slider drags through training."""

from __future__ import annotations

from pages.views.register import register

_view = register(
    __file__,
    "head_distance",
    css="""
.hd-stage { display: flex; flex-wrap: wrap; gap: 32px; align-items: flex-start; }
.hd-side { flex: 1 1 220px; min-width: 200px; min-height: 340px; }
.hd-title { font-weight: 600; margin-bottom: 8px; min-height: 1.4em; }
.hd-legend { display: flex; gap: 8px; align-items: center; margin-top: 8px; color: var(--vv-muted); }
.hd-note { margin-top: 8px; min-height: 4.2em; color: var(--vv-muted); }
.hd-time { gap: 12px; align-items: center; margin-top: 8px; display: none; }
.hd-play { min-width: 44px; }
.hd-step { min-width: 96px; text-align: right; }
""",
)


def head_distance(data: bytes, *, key: str) -> tuple[int, int] | None:
    """Draws `vitviz.plots.distance.heads_view`; returns the (layer, head) that was clicked in this run."""
    picked = _view(data, key=key, triggers=("pick",)).pick
    return None if picked is None else (int(picked[0]), int(picked[1]))
