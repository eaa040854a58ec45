"""Mount the view of kept and new parts, and of positions before and after resizing."""

from __future__ import annotations

from pages.views.register import register

_view = register(__file__, "plan_view")


def plan_view(data: bytes, *, key: str) -> None:
    """Draws what `vitviz.plots.fine_tuning.plan` packed."""
    _view(data, key=key)
