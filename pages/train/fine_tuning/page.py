"""Assemble the fine-tuning page: a pretrained backbone against the same model from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.train.fine_tuning import (
    image_count,
    race_controls,
    recipe,
    tuning_race,
    tuning_ways,
    weight_changes,
)

VIEWS = {
    "race": ("Fine-tune", tuning_race.draw),
    "changed": ("Weight changes", weight_changes.draw),
    "grown": ("Number of images", image_count.draw),
    "ways": ("Fine-tuning methods", tuning_ways.draw),
    "recipe": ("The lecture's recipe", recipe.draw),
}


@dataclass(frozen=True)
class FineTuningControls(widgets.ControlValues, page="fine_tuning"):
    """The selected view of `VIEWS`."""

    view: str


page.header("fine_tuning")
widgets.keep_pending(
    race_controls.RaceControls,
    race_controls.MethodControls,
    weight_changes.ChangeControls,
    image_count.ImageCountControls,
    tuning_ways.TuningControls,
)
widgets.choose_section(FineTuningControls.key("view"), VIEWS)()
