"""How much data does a model want: five models on growing numbers of the same pictures."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.studies.data import augmentation, papers, size_curves, stored_results, training_time

VIEWS = {
    "sizes": ("Pictures", size_curves.draw),
    "time": ("Training time", training_time.draw),
    "augmented": ("Augmentation", augmentation.draw),
    "papers": ("In the papers", papers.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="data"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["data"]
page.header(entry.title, entry.question)
widgets.hold(
    stored_results.Which, size_curves.Choice, training_time.Choice, augmentation.Choice, papers.Choice
)
sections.choose(Choice.key("view"), VIEWS)()
