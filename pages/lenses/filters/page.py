"""Lens: what the first linear map looks for."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.filters import components, embedding_location, reconstruction
from pages.selection import selection, substitute
from vitviz.models.abilities import abilities

VIEWS = {
    "components": ("Components", components.draw),
    "express": ("What they can express", reconstruction.draw),
    "where": ("Where is E?", embedding_location.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="filters"):
    """Which of `VIEWS` is shown."""

    view: str


def draw() -> None:
    """The chosen view, or why there is none."""
    able = abilities(selection.choice().config)
    if not able.filters:
        substitute.offer(able.filters.why_not, "filters.instead", icon=":material/grid_off:")
        return
    sections.choose(Choice.key("view"), VIEWS)()


entry = registry.BY_SLUG["filters"]
page.header(entry.title, entry.question)
draw()
