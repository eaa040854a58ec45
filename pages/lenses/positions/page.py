"""Lens: how a token knows where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.positions import encodings_race, lecture, resize, similarity, table

VIEWS = {
    "similarity": ("Similarity", similarity.draw),
    "table": ("The table", table.draw),
    "lecture": ("The lecture's numbers", lecture.draw),
    "resize": ("Resize", resize.draw),
    "matter": ("Do they matter?", encodings_race.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="positions"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["positions"]
page.header(entry.title, entry.question)
sections.choose(Choice.key("view"), VIEWS)()
