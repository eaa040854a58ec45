"""Study: test accuracy of five models over the number of training images."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page, registry
from pages.studies.data import augmentation, papers, size_curves, stored_results, training_time

VIEWS = {
    "sizes": ("Pictures", size_curves.draw),
    "time": ("Training time", training_time.draw),
    "augmented": ("Augmentation", augmentation.draw),
    "papers": ("In the papers", papers.draw),
}


@dataclass(frozen=True)
class DataControls(widgets.ControlValues, page="data"):
    """The selected view of `VIEWS`."""

    view: str


entry = registry.BY_SLUG["data"]
page.header(entry.title, entry.question)
widgets.keep_pending(
    stored_results.GridControls,
    size_curves.SizeControls,
    training_time.TimeControls,
    augmentation.AugmentationControls,
    papers.PaperControls,
)
widgets.choose_section(DataControls.key("view"), VIEWS)()
