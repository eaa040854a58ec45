"""Lens: what the first linear map looks for."""

from __future__ import annotations

from dataclasses import dataclass

from pages.inside.filters import components, express, where
from pages.shell import controls, nouns, page, registry, sections, stand_in
from vitviz.models.abilities import abilities

VIEWS = {
    "components": ("Components", components.draw),
    "express": ("What they can express", express.draw),
    "where": ("Where is E?", where.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="filters"):
    """Which of `VIEWS` is shown."""

    view: str


def draw() -> None:
    """The chosen view, or why there is none."""
    able = abilities(nouns.choice().config)
    if not able.filters:
        stand_in.offer(able.filters.why_not, "filters.instead", icon=":material/grid_off:")
        return
    sections.choose(Choice.key("view"), VIEWS)()


entry = registry.BY_SLUG["filters"]
page.header(entry.title, entry.question)
draw()
