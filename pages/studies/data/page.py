"""Assemble the study of test accuracy against the number of training images."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.studies.data import augmentation, papers, size_curves, stored_results, training_time

VIEWS = {
    "sizes": ("Training images", size_curves.draw),
    "time": ("Training time", training_time.draw),
    "augmented": ("Augmentation", augmentation.draw),
    "papers": ("In the papers", papers.draw),
}


@dataclass(frozen=True)
class DataControls(widgets.ControlValues, page="data"):
    """The selected view of `VIEWS`."""

    view: str


page.header("data")
widgets.keep_pending(
    stored_results.GridControls,
    size_curves.SizeControls,
    training_time.TimeControls,
    augmentation.AugmentationControls,
    papers.PaperControls,
)
widgets.choose_section(DataControls.key("view"), VIEWS)()
