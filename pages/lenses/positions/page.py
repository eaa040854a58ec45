"""Lens: position encodings."""

from pages.controls import widgets
from pages.frame import page
from pages.lenses.positions import lecture, resize, rotary, similarity, table
from pages.selection import selection

VIEWS = {
    "similarity": ("Similarity", similarity.draw),
    "table": ("Table", table.draw),
    "rotary": ("Rotary pairs", rotary.draw),
    "lecture": ("Lecture examples", lecture.draw),
    "resize": ("Resizing", resize.draw),
}


@page.view
def draw() -> None:
    widgets.choose_section("positions.view", VIEWS)()
    selection.link_to("studies", "Do positions matter?", **{"studies.study": "positions"})


page.header("positions")
draw()
