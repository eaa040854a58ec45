"""The race of a fine-tuned model with its twin from scratch, while it runs."""

from __future__ import annotations

from pages.views.register import register

_view = register(__file__, "learning_view")


def learning_view(data: bytes, *, key: str) -> None:
    """Draws what `vitviz.plots.fine_tuning.learning` packed."""
    _view(data, key=key)
