"""Lens: the filters of the patch embedding."""

from pages.controls import widgets
from pages.frame import page
from pages.lenses.filters import components, embedding_location

VIEWS = {
    "components": ("Components", components.draw),
    "express": ("Reconstruction", components.draw_reconstruction),
    "where": ("Where is E?", embedding_location.draw),
}


@page.view
def draw() -> None:
    widgets.choose_section("filters.view", VIEWS)()


page.header("filters")
draw()
