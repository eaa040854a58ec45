"""Positional encodings: how a token knows where it comes from."""

from __future__ import annotations

from pages.inside.positions import lecture, matter, resize, similarity, table
from pages.shell import controls, page, registry

VIEWS = {
    "similarity": ("Similarity", similarity.draw),
    "table": ("The table", table.draw),
    "lecture": ("The lecture's numbers", lecture.draw),
    "resize": ("Resize", resize.draw),
    "matter": ("Do they matter?", matter.draw),
}

entry = registry.BY_SLUG["positions"]
page.header(entry.title, entry.question)
view = controls.segmented(
    "positions.view",
    "What to look at",
    tuple(VIEWS),
    "similarity",
    format_func=lambda name: VIEWS[name][0],
    label_visibility="collapsed",
)
VIEWS[view][1]()
