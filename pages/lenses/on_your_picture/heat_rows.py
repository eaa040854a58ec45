"""Rows of small maps in the browser."""

from __future__ import annotations

from pages.views.register import register

_rows = register(__file__, "heat_rows")


def heat_rows(data: bytes, *, key: str) -> None:
    """Draws `vitviz.plots.heat_rows.payload`."""
    _rows(data, key=key)
