"""The start page's picture: a picture becomes a sequence of patches, and every patch keeps its place in both."""

from __future__ import annotations

import numpy as np

from pages.views.register import register
from vitviz.plots.blob import pack

_hero = register(__file__, "hero")


def hero(shown: np.ndarray, patch_px: int, pin: tuple[float, float] | None, *, key: str) -> int | None:
    """Mounts the view of a picture (S, S, 3) uint8; returns the patch that was pinned in this run, or None."""
    payload = pack({"patch_px": patch_px, "pin": None if pin is None else list(pin)}, shown=shown)
    picked: int | None = _hero(payload, key=key, triggers=("pick",)).pick
    return picked
