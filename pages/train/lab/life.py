"""A run's life as a timeline with pictures: all snapshots' arrays travel once, dragging is the browser's."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_CSS = """
.life-bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.vv .life-bar button { padding: 2px 10px; }
.vv .life-bar .life-track { flex: 1 1 200px; width: auto; min-height: 32px; }
.life-where { margin: 4px 0 16px; min-height: 20px; }
.life-grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(232px, 1fr)); gap: 24px; }
.life-card { margin: 0; min-width: 0; overflow: hidden; }
.life-wide { grid-column: span 2; }
@media (max-width: 640px) { .life-wide { grid-column: span 1; } }
.life-head { display: flex; align-items: center; gap: 8px; min-height: 32px; margin-bottom: 4px; }
.life-title { flex: 1; font-weight: 600; }
.vv .life-open { padding: 0 8px; min-height: 26px; font-size: 0.8125rem; }
.life-note { margin-top: 8px; min-height: 40px; }
"""
_life = register(__file__, "life", css=_CSS)


def life(payload: bytes, *, key: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Mounts the timeline that `vitviz.plots.life.payload` packed.

    Returns the moment that the visitor settled on (run, step, follow), and what was opened in this run of the script.
    """
    result = _life(payload, key=key, states=("moment",), triggers=("open",))
    return result.moment, result.open
