"""Filters of E: what the first linear map looks for."""

from __future__ import annotations

from pages.inside.filters import components, express, sources, where
from pages.shell import controls, nouns, page, registry, stand_in

VIEWS = {
    "components": ("Components", components.draw),
    "express": ("What they can express", express.draw),
    "where": ("Where is E?", where.draw),
}

entry = registry.BY_SLUG["filters"]
page.header(entry.title, entry.question)
if sources.parameter_name(nouns.choice().config) is None:
    stand_in.offer(
        "This model's first map reads the whole picture at once: there are no filters to draw.",
        "filters.instead",
        icon=":material/grid_off:",
    )
else:
    view = controls.segmented(
        "filters.view",
        "What to look at",
        tuple(VIEWS),
        "components",
        format_func=lambda name: VIEWS[name][0],
        label_visibility="collapsed",
    )
    VIEWS[view][1]()
