"""A pad to draw a digit on, with the model's answer beside it."""

from __future__ import annotations

import base64
import binascii

import numpy as np
from numpy.typing import NDArray

from pages.views.register import register

SIDE = 56  # px of the drawing that travels
_CSS = """
.pad-wrap { display: flex; flex-wrap: wrap; gap: 24px; align-items: flex-start; }
.pad-left { width: 232px; }
.vv .pad-canvas { border-radius: 8px; cursor: crosshair; touch-action: none; background: #000; }
.pad-buttons { margin-top: 8px; }
.pad-left[hidden] { display: none; }
.pad-middle { margin: 0; width: 168px; }
.pad-middle figcaption { margin-top: 8px; }
.pad-right { flex: 1 1 200px; min-width: 200px; max-width: 420px; }
.pad-head { min-height: 24px; margin-bottom: 8px; }
.pad-row {
  display: grid; grid-template-columns: minmax(16px, max-content) 1fr 48px; gap: 8px;
  align-items: center; min-height: 21px;
}
.pad-rail { height: 10px; background: var(--vv-panel); border-radius: 2px; overflow: hidden; }
.pad-bar { display: block; height: 100%; background: var(--vv-muted); transition: width 200ms ease-out; }
.pad-best .pad-bar { background: var(--st-primary-color); }
.pad-best .pad-name, .pad-best .pad-value { font-weight: 600; }
.pad-value { text-align: right; }
@media (prefers-reduced-motion: reduce) { .pad-bar { transition: none; } }
"""
_pad = register(__file__, "digit_pad", css=_CSS)


def digit_pad(payload: bytes, *, key: str) -> NDArray[np.uint8] | None:
    """Mounts the pad with an answer; returns the drawing (56, 56), light on dark, or None while it is empty."""
    return decode(_pad(payload, key=key, states=("drawing",)).drawing)


def decode(text: object) -> NDArray[np.uint8] | None:
    """The drawing that the browser sent; None where it sent none, or something else."""
    if not isinstance(text, str) or len(text) > 2 * SIDE * SIDE:
        return None
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) != SIDE * SIDE:
        return None
    return np.frombuffer(raw, np.uint8).reshape(SIDE, SIDE)
