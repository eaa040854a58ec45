"""Attention distance of every head against depth (ViT paper, figure 7 right)."""

from pages.frame import page
from pages.lenses.attention_distance import heads, reach
from pages.selection import selection
from pages.stores import recorded_runs, shared_cache
from vitviz.models.abilities import abilities


@page.view
def draw() -> None:
    choice = selection.get_model_choice()
    if recorded_runs.lacks_weights(choice):
        heads.draw_recorded(choice)
        return
    able = abilities(choice.config)
    model = shared_cache.load_model(choice, selection.get_current().step)
    if able.heads_over_all:
        heads.draw(model)
    elif able.windows:
        reach.draw_swin(model)
    else:
        reach.draw_cnn(model)


page.header("attention_distance")
draw()
