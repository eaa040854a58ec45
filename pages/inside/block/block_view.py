"""One token's way through one block, in the browser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pages.views.register import register
from vitviz.analysis.block import Step
from vitviz.models.layout import TokenLayout
from vitviz.plots.blob import pack

_block = register(
    __file__,
    "block_view",
    css="""
.vv ol.bl { list-style: none; margin: 0; padding: 0 0 0 16px; border-left: 3px solid var(--vv-query); }
.vv .bl-step {
  position: relative; margin: 0 0 8px 24px; padding: 8px 12px; background: var(--vv-panel); border-radius: 8px;
}
.vv .bl-step.bl-stream { margin-left: 0; background: none; border: 1px solid var(--vv-line); }
.vv .bl-step.bl-stream::before {
  content: ""; position: absolute; left: -24px; top: 14px; width: 11px; height: 11px; border-radius: 50%;
  background: var(--vv-query); border: 2px solid var(--st-background-color);
}
.vv .bl-head { display: flex; justify-content: space-between; gap: 8px; flex-wrap: wrap; }
.vv .bl-head b { font-weight: 600; white-space: pre; }
.vv .bl-body {
  display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 8px 24px; align-items: start;
  margin-top: 4px;
}
.vv.bl-narrow .bl-body { grid-template-columns: minmax(0, 1fr); }
.vv .bl-formula { white-space: nowrap; }
.vv .bl-strip { display: flex; gap: 8px; align-items: center; margin-bottom: 4px; }
.vv .bl-strip canvas { flex: 1; min-width: 0; height: 22px; width: 100%; cursor: crosshair; }
.vv .bl-part { width: 12px; }
.vv .bl-range { flex: 0 0 56px; font-size: 0.8125rem; text-align: right; }
.vv .bl-bands { display: flex; margin-right: 64px; }
.vv .bl-bands i { flex: 1; height: 4px; }
.vv .bl-maps { display: flex; gap: 16px; flex-wrap: wrap; }
.vv .bl-map { flex: 0 1 152px; min-width: 120px; }
.vv .bl-frame { position: relative; overflow: hidden; border-radius: 2px; cursor: crosshair; }
.vv .bl-frame canvas { position: absolute; inset: 0; width: 100%; height: 100%; border-radius: 0; }
.vv .bl-frame canvas:first-child { filter: grayscale(1) brightness(0.92) contrast(0.8); }
.vv .bl-mark {
  position: absolute; pointer-events: none; outline: 2px solid var(--vv-query); box-shadow: 0 0 0 3px #fff;
}
.vv .bl-caption { font-size: 0.8125rem; }
""",
)


def block(
    steps: list[Step],
    *,
    picture: NDArray[np.uint8],
    layout: TokenLayout,
    token: int,
    head: int,
    heads: int,
    key: str,
    on_change: Callable[[], None],
) -> None:
    """Draws the steps; a click on a key is the trigger 'pin', one on the stream's channel the trigger 'channel'."""
    header = {
        "prefix": list(layout.prefix),
        "grid": list(layout.grid),
        "token": token,
        "head": head,
        "heads": heads,
        "steps": [
            {
                "title": step.title,
                "formula": step.formula,
                "numbers": step.numbers.replace("-", "−"),
                "shape": list(step.shape),
                "labels": list(step.labels),
                "kind": step.kind,
                "stream": step.stream,
                "array": f"s{i}",
            }
            for i, step in enumerate(steps)
        ],
    }
    arrays = {f"s{i}": step.values for i, step in enumerate(steps)}
    _block(pack(header, picture=picture, **arrays), key=key, triggers=("pin", "channel"), on_change=on_change)
