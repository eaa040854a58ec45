"""Fine-tuning: a trained body on other pictures, live beside the same model from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
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
    "grown": ("As pictures grow", image_count.draw),
    "ways": ("Ways to tune", tuning_ways.draw),
    "recipe": ("The lesson's recipe", recipe.draw),
}


@dataclass(frozen=True)
class View(widgets.Chosen, page="fine_tuning"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["fine_tuning"]
page.header(entry.title, entry.question)
widgets.hold(
    race_controls.Choice, race_controls.How, weight_changes.Which, image_count.Body, tuning_ways.Ways
)
sections.choose(View.key("view"), VIEWS)()
