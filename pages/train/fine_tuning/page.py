"""Fine-tuning: a trained body on other pictures, live beside the same model from scratch."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shell import controls, page, registry, sections
from pages.train.fine_tuning import changed, choices, grown, recipe, side_by_side, tuning_ways

VIEWS = {
    "race": ("Fine-tune", side_by_side.draw),
    "changed": ("What changed", changed.draw),
    "grown": ("As pictures grow", grown.draw),
    "ways": ("Ways to tune", tuning_ways.draw),
    "recipe": ("The lesson's recipe", recipe.draw),
}


@dataclass(frozen=True)
class View(controls.Chosen, page="fine_tuning"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["fine_tuning"]
page.header(entry.title, entry.question)
controls.hold(choices.Choice, choices.How, changed.Which, grown.Body, tuning_ways.Ways)
sections.choose(View.key("view"), VIEWS)()
