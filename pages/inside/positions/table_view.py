"""A table of positions as a heat map; a cell tells its formula with its own numbers, a column its wave."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_CSS = """
.pt-stage { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.pt-stage > div { min-width: 0; }
.pt-map { cursor: crosshair; touch-action: pan-y !important; }
.pt-label { color: var(--vv-muted); font-size: 0.8125rem; min-height: 20px; }
.pt-head { font-weight: 600; min-height: 24px; }
.pt-formula { min-height: 96px; font-size: 0.8125rem; white-space: pre-line; overflow-wrap: anywhere;
  font-family: var(--st-code-font, monospace); }
.pt-photo { display: flex; gap: 12px; align-items: flex-start; margin-top: 8px; }
"""
_table = register(__file__, "table_view", css=_CSS)


def table(payload: bytes, *, key: str) -> Any:
    """Mounts the heat map that `vitviz.plots.positions.table` packed."""
    return _table(payload, key=key)
