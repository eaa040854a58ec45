"""Lens: the filters of the patch embedding."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.lenses.filters import components, embedding_location, reconstruction
from pages.selection import selection, substitute
from vitviz.models.abilities import abilities

VIEWS = {
    "components": ("Components", components.draw),
    "express": ("Reconstruction", reconstruction.draw),
    "where": ("Where is E?", embedding_location.draw),
}


@dataclass(frozen=True)
class SectionControls(widgets.ControlValues, page="filters"):
    """The selected section, one of `VIEWS`."""

    view: str


def draw() -> None:
    """Draw the selected section, or offer another model where this one has no filters."""
    able = abilities(selection.get_model_choice().config)
    if not able.filters:
        substitute.offer_substitute(able.filters.why_not, "filters.instead", icon=":material/grid_off:")
        return
    widgets.choose_section(SectionControls.key("view"), VIEWS)()


page.header("filters")
draw()
