"""What a new model keeps of a trained one, part by part, and its positions before and after where they are resized."""

from __future__ import annotations

from pages.views.register import register

_view = register(__file__, "plan_view")


def plan_view(data: bytes, *, key: str) -> None:
    """Draws what `vitviz.plots.fine_tuning.plan` packed."""
    _view(data, key=key)
