"""A picture rebuilt patch by patch from the first k components of several bases; k moves in the browser."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_CSS = """
.fr-k { display: grid; grid-template-columns: auto 1fr; gap: 12px; align-items: center; margin-bottom: 12px; }
.fr-k span { min-width: 148px; font-weight: 600; }
.fr-row { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.fr-title { font-weight: 600; min-height: 20px; }
.fr-note { color: var(--vv-muted); font-size: 0.8125rem; min-height: 20px; margin-bottom: 4px; }
.fr-error { font-size: 1.125rem; font-weight: 600; margin-top: 4px; min-height: 24px; }
.fr-map { cursor: crosshair; touch-action: pan-y !important; }
.fr-curve { margin-top: 16px; cursor: ew-resize; }
.fr-patch { margin-top: 8px; display: flex; gap: 8px; align-items: center; }
"""
_rebuild = register(__file__, "rebuild_view", css=_CSS)


def rebuild(payload: bytes, *, key: str) -> Any:
    """Mounts the pictures that `vitviz.plots.filters.rebuilding` packed."""
    return _rebuild(payload, key=key)
