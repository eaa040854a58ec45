"""Maps of one picture side by side, one pointer over all."""

from __future__ import annotations

from pages.views.register import register

_maps = register(
    __file__,
    "maps",
    css="""
.vv .am { display: grid; gap: 16px 16px; grid-template-columns: repeat(auto-fit, minmax(var(--am-min, 160px), 1fr)); }
.vv .am-title { font-weight: 600; }
.vv .am-line { font-size: 0.8125rem; min-height: 4.3em; line-height: 1.4; }
.vv .am-panel { max-width: 360px; }
.vv .am [hidden] { display: none; }
.vv .am-frame { position: relative; width: 100%; overflow: hidden; border-radius: 2px; cursor: crosshair; }
.vv .am-frame canvas { position: absolute; inset: 0; width: 100%; height: 100%; border-radius: 0; }
.vv .am-cells { image-rendering: pixelated; }
.vv .am-grey { filter: grayscale(1) brightness(0.92) contrast(0.8); }
.vv .am-mark {
  position: absolute; pointer-events: none; outline: 2px solid var(--vv-query);
  box-shadow: 0 0 0 4px rgb(255 255 255 / 0.85);
}
.vv .am-note { font-size: 0.8125rem; min-height: 1.4em; margin-top: 2px; }
""",
)


def maps(data: bytes, *, key: str) -> int | None:
    """Draws `vitviz.plots.attention.maps_view`; returns the patch that was picked in this run."""
    picked = _maps(data, key=key, triggers=("pick",)).pick
    return None if picked is None else int(picked)
