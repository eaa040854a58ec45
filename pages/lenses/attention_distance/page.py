"""Attention distance of every head against depth (ViT paper, figure 7 right)."""

from __future__ import annotations

from pages.frame import page
from pages.lenses.attention_distance import heads, reach
from pages.selection import selection, substitute
from pages.stores import cached
from vitviz.models.abilities import abilities


def draw() -> None:
    able = abilities(selection.get_model_choice().config)
    for ability in (able.distance, able.whole_record):
        if not ability:
            substitute.offer_substitute(
                ability.why_not, "attention_distance.instead", icon=":material/straighten:"
            )
            return
    model = cached.load_model(selection.get_model_choice(), selection.get_current().step)
    if able.heads_over_all:
        heads.draw(model)
    elif able.windows:
        reach.draw_swin(model)
    else:
        reach.draw_cnn(model)


page.header("attention_distance")
draw()
