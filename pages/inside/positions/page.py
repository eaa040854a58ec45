"""Lens: how a token knows where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from pages.inside.positions import lecture, matter, resize, similarity, table
from pages.shell import controls, page, registry, sections

VIEWS = {
    "similarity": ("Similarity", similarity.draw),
    "table": ("The table", table.draw),
    "lecture": ("The lecture's numbers", lecture.draw),
    "resize": ("Resize", resize.draw),
    "matter": ("Do they matter?", matter.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="positions"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["positions"]
page.header(entry.title, entry.question)
sections.choose(Choice.key("view"), VIEWS)()
