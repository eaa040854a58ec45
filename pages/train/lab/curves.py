"""Training curves of one or several runs, drawn in place in the browser."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_CSS = """
.curves-bar { margin-bottom: 8px; }
.curves-group { display: inline-flex; }
.vv .curves-group button { border-radius: 0; margin-left: -1px; }
.vv .curves-group button:first-child { border-radius: 8px 0 0 8px; margin-left: 0; }
.vv .curves-group button:last-child { border-radius: 0 8px 8px 0; }
.vv .curves-bar button { padding: 2px 10px; }
.curves-smooth { display: inline-flex; align-items: center; gap: 8px; min-height: 32px; }
.vv .curves-smooth input { width: 72px; }
.curves-smooth span { min-width: 76px; }
.vv .curves-whole { position: absolute; right: 0; top: 40px; padding: 2px 10px; z-index: 5; }
.vv .curves-whole[hidden] { display: none; }
.vv select {
  font: inherit; color: inherit; background: var(--vv-panel); border: 1px solid var(--vv-line);
  border-radius: 8px; min-height: 32px; padding: 2px 8px; max-width: 108px;
}
.vv .curves-canvas { cursor: crosshair; touch-action: pan-y; width: 100%; }
"""
_curves = register(__file__, "curves", css=_CSS)


def curves(payload: bytes, *, key: str) -> tuple[dict[str, Any] | None, float | None]:
    """Mounts the curves that `vitviz.plots.curves.payload` packed.

    Returns the toolbar's state once it was touched, and the step that was marked in this run of the script.
    """
    result = _curves(payload, key=key, states=("view",), triggers=("moment",))
    return result.view, result.moment
