"""Client views: a picture drawn in the browser, which follows the pointer without asking the server.

A view is a Python file and a JavaScript file of one name beside this one. For example `swatch.py`:

    from pages.views.register import register
    from vitviz.plots.blob import pack

    _swatch = register(__file__, "swatch", css=".swatch-note { margin-top: 8px; }")

    def swatch(values: np.ndarray, *, key: str) -> int | None:
        \"""A heat map of values (rows, cols) float32; returns the cell that was picked in this run.\"""
        payload = pack({"label": "Similarity", "lo": -1.0, "hi": 1.0}, values=values)
        return _swatch(payload, key=key, triggers=("pick",)).pick

and `swatch.js`, where everything in base.js is at hand:

    export default view(({ root, trigger }) => {
      const map = canvas(root), tip = tooltip(root), say = live(root);
      let now = null;                                    // the newest message
      gridNavigation(map.node, {
        label: 'Similarity map',
        rows: () => now.arrays.values.shape[0],
        cols: () => now.arrays.values.shape[1],
        hover(i, event) {
          if (i < 0) return tip.hide();
          say(`cell ${i}: ${now.arrays.values.data[i].toFixed(2)}`);
          if (event) tip.show(event.offsetX, event.offsetY, now.arrays.values.data[i].toFixed(2));
        },
        pick: (i) => trigger('pick', i),
      });
      return (message) => {                              // {header, arrays, colors, width}
        now = message;
        const { data, shape: [rows, cols] } = now.arrays.values, side = Math.min(now.width, 320);
        const ctx = map.size(side, (side * rows) / cols);
        blit(ctx, heat(data, rows, cols, DIVERGING_LUT, now.header.lo, now.header.hi), 0, 0, map.width, map.height);
      };
    });

Rules: one `bytes` payload, an explicit key, text only through `el`, `tip` and `say` (never innerHTML), `trigger` and
`send` only from what the visitor does. The root carries `data-component` and, once drawn, `data-ready="true"`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, Protocol

import streamlit as st

from vitviz.plots import theme

_HERE = Path(__file__).parent
Height = int | Literal["stretch", "content"]


class View(Protocol):
    """Mounts a registered view; the result has an attribute per state and per trigger (None where nothing came)."""

    def __call__(
        self,
        data: bytes,
        *,
        key: str,
        height: Height = "content",
        states: tuple[str, ...] = (),
        triggers: tuple[str, ...] = (),
        on_change: Callable[[], None] | None = None,
    ) -> Any: ...


def _palette() -> str:
    modes = {mode: asdict(palette) for mode, palette in theme.PALETTES.items()}
    ramps = {"SEQUENTIAL": theme.SEQUENTIAL, "DIVERGING": theme.DIVERGING, "HEADS": theme.HEADS}
    return f"const PALETTE = {json.dumps(ramps | modes)};\n"


def register(beside: str, name: str, css: str = "") -> View:
    """Builds the view `name` from base.js, base.css and NAME.js beside a file; call it once, at module level."""
    script = (
        _palette()
        + (_HERE / "base.js").read_text("utf-8")
        + Path(beside).with_name(f"{name}.js").read_text("utf-8")
    )
    style = (_HERE / "base.css").read_text("utf-8") + css
    mount = st.components.v2.component(
        f"vitviz_{name}",
        html=f'<div class="vv" data-component="{name}"></div>',
        css=style,
        js=script,
    )

    def show(
        data: bytes,
        *,
        key: str,
        height: Height = "content",
        states: tuple[str, ...] = (),
        triggers: tuple[str, ...] = (),
        on_change: Callable[[], None] | None = None,
    ) -> Any:
        callbacks: dict[str, Any] = {
            f"on_{event}_change": on_change or _nothing for event in (*states, *triggers)
        }
        return mount(data=data, key=key, height=height, **callbacks)

    return show


def _nothing() -> None:
    """A component announces its values only where they have a callback."""
