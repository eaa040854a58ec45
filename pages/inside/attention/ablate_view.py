"""Paint patches out and silence heads; what is left out is the view's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack

_ablate = register(
    __file__,
    "ablate_view",
    css="""
.vv .aa { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 16px 24px; align-items: start; }
.vv.aa-narrow .aa { grid-template-columns: minmax(0, 1fr); }
.vv .aa-stage { position: relative; width: 100%; max-width: 480px; cursor: cell; overflow: hidden; border-radius: 2px; }
.vv .aa-stage canvas { position: absolute; inset: 0; width: 100%; height: 100%; border-radius: 0; }
.vv .aa-veil { image-rendering: pixelated; }
.vv .aa [hidden] { display: none; }
.vv .aa-mark { position: absolute; pointer-events: none; outline: 2px solid var(--vv-query); }
.vv .aa-bar { margin-top: 8px; }
.vv .aa-title { font-weight: 600; margin-bottom: 8px; }
.vv .aa-row { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; margin-bottom: 4px; }
.vv button.aa-layer { flex: 0 0 76px; padding: 2px 8px; min-height: 24px; text-align: left; font-size: 0.8125rem; }
.vv button.aa-head {
  width: 24px; height: 24px; min-height: 24px; padding: 0; border-radius: 4px; background: var(--aa-color);
  border-color: transparent;
}
.vv button.aa-head[aria-pressed="true"] {
  background: linear-gradient(to top right, transparent 46%, var(--vv-muted) 46% 54%, transparent 54%), var(--vv-panel);
  border: 1px solid var(--vv-line); box-shadow: none;
}
""",
)


@dataclass(frozen=True)
class Ablation:
    """Patches in reading order, and (layer, head), that are left out; all from 0."""

    patches: tuple[int, ...] = ()
    heads: tuple[tuple[int, int], ...] = ()


def ablate(picture: np.ndarray, grid: tuple[int, int], heads: Sequence[int], *, key: str) -> Ablation:
    """Draws the picture and the heads of every layer; returns what is left out, checked against their numbers."""
    payload = pack({"grid": list(grid), "heads": list(heads)}, picture=picture)
    said = _ablate(payload, key=key, states=("ablation",)).ablation or {}
    patches = {int(i) for i in said.get("patches", ()) if 0 <= int(i) < grid[0] * grid[1]}
    chosen = {(int(layer), int(head)) for layer, head in said.get("heads", ())}
    return Ablation(
        tuple(sorted(patches)),
        tuple(sorted(pair for pair in chosen if 0 <= pair[0] < len(heads) and 0 <= pair[1] < heads[pair[0]])),
    )
