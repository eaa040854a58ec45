"""The attention explorer in the browser: hover is the query, a click pins it, a click on a small map brings it up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.views.register import register
from vitviz.plots.attention import Strip
from vitviz.plots.blob import pack

_CSS = """
.vv .ax { display: grid; grid-template-columns: minmax(0, 26fr) minmax(0, 21fr); gap: 8px 24px; }
.vv .ax-wide { grid-column: 1 / -1; }
.vv .ax-stage {
  position: relative; width: 100%; max-width: 560px; overflow: hidden; border-radius: 2px; cursor: crosshair;
  background: var(--vv-panel);
}
.vv .ax-stage > canvas, .vv .ax-lines { position: absolute; inset: 0; width: 100%; height: 100%; border-radius: 0; }
.vv .ax-cells { image-rendering: pixelated; opacity: var(--ax-opacity); }
.vv .ax-smooth .ax-cells { image-rendering: auto; }
.vv[data-style="heat"] .ax-stage .ax-cells, .vv[data-style="heat"] .ax-frame .ax-cells { opacity: 1; }
.vv .ax-base { filter: grayscale(1) brightness(0.92) contrast(0.8); }
.vv:is([data-style="dim"], [data-style="mask"]) .ax-base { filter: none; }
.vv .ax-lines { pointer-events: none; display: none; }
.vv .ax-grid .ax-lines {
  display: block;
  background-image: linear-gradient(to right, rgb(255 255 255 / 0.22) 1px, transparent 1px),
    linear-gradient(to bottom, rgb(255 255 255 / 0.22) 1px, transparent 1px);
}
.vv .ax-query, .vv .ax-pin { position: absolute; pointer-events: none; border-radius: 2px; }
.vv .ax-query { outline: 2.5px solid var(--vv-query); box-shadow: 0 0 0 4.5px rgb(255 255 255 / 0.9); z-index: 2; }
.vv .ax-pin { outline: 2px dashed var(--vv-query); box-shadow: 0 0 0 3.5px rgb(255 255 255 / 0.6); z-index: 1; }
.vv .ax [hidden] { display: none; }
.vv .ax-tokens { min-height: 32px; margin-bottom: 8px; }
.vv .ax-token { display: inline-flex; gap: 8px; }
.vv .ax-token span { min-width: 44px; text-align: right; }
.vv .ax-token.ax-on { background: var(--vv-query); border-color: var(--vv-query); color: #fff; }
.vv .ax-token.ax-on .vv-muted { color: #fff; }
.vv .ax-legend { display: flex; gap: 8px; align-items: center; margin-top: 8px; }
.vv .ax-legend canvas { flex: 1; height: 8px; max-width: 240px; border: 1px solid var(--vv-line); }
.vv .ax-name { font-size: 1.125rem; font-weight: 600; display: flex; gap: 8px; align-items: center; }
.vv .ax-name i { width: 12px; height: 12px; border-radius: 2px; background: var(--vv-query); flex: none; }
.vv .ax-inspector { min-height: 236px; }
.vv .ax-inspector table { margin: 8px 0; border-collapse: collapse; width: 100%; }
.vv .ax-inspector th { font-weight: 400; text-align: left; color: var(--vv-muted); padding: 2px 12px 2px 0; }
.vv .ax-inspector td { text-align: right; padding: 2px 0; }
.vv .ax-formula { white-space: pre-line; padding: 8px 12px; background: var(--vv-panel); border-radius: 8px; }
.vv .ax-title { font-weight: 600; margin: 8px 0 -4px; }
.vv .ax-right .ax-title { margin: 16px 0 8px; }
.vv .ax-thumbs { display: grid; gap: 8px; }
.vv .ax-heads { grid-template-columns: repeat(var(--ax-columns, 4), minmax(0, 112px)); }
.vv .ax-layers { grid-template-columns: repeat(var(--ax-columns, 8), minmax(0, 112px)); }
.vv.ax-narrow .ax-layers { grid-template-columns: repeat(auto-fill, minmax(72px, 1fr)); }
.vv .ax-title small { margin-left: 8px; font-weight: 400; color: var(--vv-muted); font-size: 0.8125rem; }
.vv button.ax-thumb {
  padding: 0; border: 0; background: none; min-height: 0; border-radius: 4px; display: block; max-width: 112px;
  width: 100%; text-align: left; line-height: 1.3;
}
.vv button.ax-thumb:hover .ax-frame { box-shadow: 0 0 0 1px var(--vv-query); }
.vv button.ax-thumb[aria-pressed="true"] { box-shadow: none; }
.vv button.ax-thumb[aria-pressed="true"] .ax-frame { box-shadow: 0 0 0 2.5px var(--vv-query); }
.vv button.ax-thumb[aria-pressed="true"] .ax-label { font-weight: 600; color: var(--st-text-color); }
.vv .ax-frame {
  position: relative; display: block; width: 100%; aspect-ratio: var(--ax-ratio, 1); overflow: hidden;
  border-radius: 2px; background: var(--vv-panel);
}
.vv .ax-frame::before {
  content: ""; position: absolute; inset: 0; background: var(--ax-picture) center / 100% 100%;
  filter: grayscale(1) brightness(0.92) contrast(0.8);
}
.vv[data-pixelated="true"] .ax-frame::before { image-rendering: pixelated; }
.vv:is([data-style="dim"], [data-style="mask"]) .ax-frame::before { filter: none; }
.vv .ax-frame canvas { position: absolute; inset: 0; width: 100%; height: 100%; border-radius: 0; }
.vv .ax-label { display: block; margin-top: 2px; font-size: 0.8125rem; color: var(--vv-muted); }
.vv .ax-label[style]::before {
  content: ""; display: inline-block; width: 8px; height: 8px; border-radius: 50%; margin-right: 6px;
  background: var(--ax-head);
}
.vv.ax-narrow .ax { grid-template-columns: minmax(0, 1fr); }
"""
_explorer = register(__file__, "explorer", css=_CSS)
_strip = register(__file__, "explorer_strip")
_options = register(__file__, "explorer_options")


def explorer(data: bytes, strip: Strip, *, key: str, on_change: Callable[[], None]) -> None:
    """Draws `vitviz.plots.attention.explorer_view` with its strip; what was picked is in the session under the key.

    `picked(key)` reads it inside on_change: {'pin': str} | {'layer': int} | {'head': int}.
    """
    with st.container(gap=None):
        _strip(strip.data, key=f"{key}.strip")
        _explorer(data, key=key, triggers=("pin", "layer", "head"), on_change=on_change)


def picked(key: str) -> dict[str, Any]:
    """The events of the explorer in this run, by name; to be called in its callback."""
    events = st.session_state.get(key) or {}
    return {
        name: events[name] for name in ("pin", "layer", "head") if name in events and events[name] is not None
    }


def view_options(
    *,
    group: str,
    pin: str,
    direction: str,
    scale: str,
    style: str,
    share: float,
    opacity: float,
    smooth: bool,
    grid: bool,
) -> None:
    """Tells the explorers of a group how to draw, in a message of a few bytes."""
    header = {
        "group": group,
        "pin": pin,
        "direction": direction,
        "scale": scale,
        "style": style,
        "share": share,
        "opacity": opacity,
        "smooth": smooth,
        "grid": grid,
    }
    _options(pack(header), key=f"{group}.options")
