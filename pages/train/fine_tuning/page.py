"""Assemble the fine-tuning page: a pretrained backbone against the same model from scratch."""

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.train.fine_tuning import race_controls, recipe, tuning_race, weight_changes

VIEWS = {
    "race": ("Fine-tune", tuning_race.draw),
    "changed": ("Weight changes", weight_changes.draw),
    "recipe": ("The lecture's recipe", recipe.draw),
}


page.header("fine_tuning")
widgets.keep_pending(
    race_controls.RaceControls,
    race_controls.MethodControls,
    weight_changes.ChangeControls,
)
widgets.choose_section("fine_tuning.view", VIEWS)()
with page.row():
    selection.link_to("studies", "Fine-tuning on few images", **{"studies.study": "image_count"})
    selection.link_to("studies", "Fine-tuning methods", **{"studies.study": "tuning_methods"})
