"""Assemble the fine-tuning page: a pretrained backbone against the same model from scratch."""

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.train.fine_tuning import lecture_recipe, tuning_race, weight_changes

VIEWS = {
    "race": ("Fine-tune", tuning_race.draw),
    "changed": ("Weight changes", weight_changes.draw),
    "recipe": ("The lecture's recipe", lecture_recipe.draw),
}


page.header("fine_tuning")
widgets.choose_section("fine_tuning.view", VIEWS)()
with page.row():
    selection.link_to("studies", "Fine-tuning on few images", **{"studies.study": "image_count"})
    selection.link_to("studies", "Fine-tuning methods", **{"studies.study": "tuning_methods"})
