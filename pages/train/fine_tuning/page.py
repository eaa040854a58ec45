"""Fine-tuning: a trained backbone on other images, live beside the same model from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page, registry
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
    "changed": ("What changed", weight_changes.draw),
    "grown": ("As images grow", image_count.draw),
    "ways": ("Ways to tune", tuning_ways.draw),
    "recipe": ("The lesson's recipe", recipe.draw),
}


@dataclass(frozen=True)
class FineTuningControls(widgets.ControlValues, page="fine_tuning"):
    """The selected view of `VIEWS`."""

    view: str


entry = registry.BY_SLUG["fine_tuning"]
page.header(entry.title, entry.question)
widgets.keep_pending(
    race_controls.RaceControls,
    race_controls.MethodControls,
    weight_changes.ChangeControls,
    image_count.ImageCountControls,
    tuning_ways.TuningControls,
)
widgets.choose_section(FineTuningControls.key("view"), VIEWS)()
