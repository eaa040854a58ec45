"""From a student that was trained here to the page that asks what it took over from its teacher."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pages.selection import selection
from pages.stores import runs
from pages.train.lab.recorded_run import model_key
from vitviz.models.abilities import abilities

if TYPE_CHECKING:
    from vitviz.training.run_directory import Run


def draw(student: Run) -> None:
    """The link, of a model that had a teacher and has a token for it, once its training has ended."""
    config = student.config()
    if config.train.distill_from is None or not abilities(config.model).distillation:
        return
    if runs.status(student).active:
        return
    asked: dict[str, Any] = {"distillation.view": "voices", "distillation.asked": True}
    selection.link_to(
        "distillation", "What did it take over from its teacher?", model=model_key(student.id), **asked
    )
