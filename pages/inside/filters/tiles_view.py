"""Sheets of filter tiles, several models side by side, through training; a tile is enlarged with its weights."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_CSS = """
.ti-stage { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.ti-sheets { display: grid; gap: 16px 24px; }
.ti-sheets > div, .ti-lens { min-width: 0; }
.ti-title { font-weight: 600; min-height: 20px; }
.ti-note { color: var(--vv-muted); font-size: 0.8125rem; min-height: 20px; margin-bottom: 4px; }
.ti-told { color: var(--vv-muted); font-size: 0.8125rem; min-height: 20px; margin-top: 4px; }
.ti-map { cursor: crosshair; touch-action: pan-y !important; }
.ti-time { display: grid; grid-template-columns: auto 1fr auto; gap: 12px; align-items: center; margin-top: 16px; }
.ti-time span { min-width: 132px; }
.ti-planes { display: flex; gap: 8px; margin-top: 8px; flex-wrap: wrap; }
.ti-read div { min-height: 20px; }
"""
_tiles = register(__file__, "tiles_view", css=_CSS)


def tiles(payload: bytes, *, key: str) -> Any:
    """Mounts the sheets that `vitviz.plots.filters.tiles` packed."""
    return _tiles(payload, key=key)
