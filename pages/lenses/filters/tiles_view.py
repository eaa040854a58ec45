"""Sheets of filter tiles, several models side by side, through training; a tile is enlarged with its weights."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_tiles = register(__file__, "tiles_view")


def tiles(payload: bytes, *, key: str) -> Any:
    """Mounts the sheets that `vitviz.plots.filters.tiles` packed."""
    return _tiles(payload, key=key)
