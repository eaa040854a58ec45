"""Lens: the filters of the patch embedding."""

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.lenses.filters import components, embedding_location, reconstruction

VIEWS = {
    "components": ("Components", components.draw),
    "express": ("Reconstruction", reconstruction.draw),
    "where": ("Where is E?", embedding_location.draw),
}


@dataclass(frozen=True)
class SectionControls(widgets.ControlValues, page="filters"):
    """The selected section, one of `VIEWS`."""

    view: str


page.header("filters")
widgets.choose_section(SectionControls.key("view"), VIEWS)()
