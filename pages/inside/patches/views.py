"""The patches lens in the browser: the stage, the slip, the sequence and the puzzle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.views.register import register

_STAGE = """
.pt-layout { display: flex; flex-direction: column; gap: 16px; }
.pt-layout.pt-wide { flex-direction: row; gap: 32px; }
.pt-left { flex: none; max-width: 100%; }
.pt-right { flex: 1; min-width: 0; }
.pt-bar { margin-bottom: 8px; }
.vv .pt-bar input[type="range"] { width: 88px; }
.pt-map { cursor: crosshair; touch-action: pan-y; }
.pt-title { font-size: 1.125rem; font-weight: 600; }
.pt-label { margin: 12px 0 4px; font-weight: 600; min-height: 20px; }
.pt-above { margin-top: 24px; }
.pt-tiles { margin-top: 8px; cursor: crosshair; }
.pt-small { font-size: 0.8125rem; margin-top: 4px; min-height: 18px; white-space: pre-wrap; }
.pt-sum { margin-top: 12px; min-height: 5.2em; white-space: pre-wrap; overflow-wrap: anywhere; }
.pt-strong { font-weight: 700; }
.pt-scroll { overflow-x: auto; overflow-y: hidden; max-width: 100%; }
.pt-spacer { position: relative; }
.pt-sticky { position: sticky; left: 0; cursor: pointer; }
"""
_PAIR = """
.pt-pair { display: flex; flex-wrap: wrap; gap: 24px; }
.pt-pair figure { margin: 0; }
.pt-pair figcaption { margin-bottom: 8px; }
.pt-strong { font-weight: 600; }
.pt-note { margin-top: 8px; min-height: 24px; }
.pt-below { margin-top: 8px; gap: 24px; }
.pt-bars { flex: 1; min-width: 264px; }
.pt-bars canvas { margin-top: 8px; }
"""
_stage = register(__file__, "patches_stage", css=_STAGE)
_slip = register(__file__, "patches_slip", css=_PAIR)
_sequence = register(__file__, "patches_sequence", css=_PAIR)
_puzzle = register(__file__, "patches_puzzle", css=_PAIR)


def stage(payload: bytes, *, key: str, on_change: Callable[[], None]) -> Any:
    """Mounts `plots.patches.stage`; `.pin` is the token and `.column` the column of E picked in this run."""
    return _stage(payload, key=key, triggers=("pin", "column"), on_change=on_change)


def slip(payload: bytes, *, key: str) -> None:
    """Mounts `plots.patches.slip`."""
    _slip(payload, key=key)


def sequence(payload: bytes, *, key: str) -> None:
    """Mounts `plots.patches.sequence`."""
    _sequence(payload, key=key)


def puzzle(payload: bytes, *, key: str) -> None:
    """Mounts `plots.patches.puzzle`."""
    _puzzle(payload, key=key)
