"""A table of positions as a heat map; a cell tells its formula with its own numbers, a column its wave."""

from __future__ import annotations

from typing import Any

from pages.views.register import register

_table = register(__file__, "table_view")


def table(payload: bytes, *, key: str) -> Any:
    """Mounts the heat map that `vitviz.plots.positions.table` packed."""
    return _table(payload, key=key)
