"""The patches lens in the browser: the stage, the slip, the sequence and the puzzle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pages.views.register import register

_stage = register(__file__, "patches_stage")
_slip = register(__file__, "patches_slip", "patches_pair")
_sequence = register(__file__, "patches_sequence", "patches_pair")
_puzzle = register(__file__, "patches_puzzle", "patches_pair")


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
