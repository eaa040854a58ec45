"""A picture rebuilt patch by patch from the first k components of several bases; k moves in the browser."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_rebuild = register(__file__, "rebuild_view")


def rebuild(payload: bytes, *, key: str) -> Any:
    """Mounts the pictures that `vitviz.plots.filters.rebuilding` packed."""
    return _rebuild(payload, key=key)
