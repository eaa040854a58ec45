"""How much data does a model want: five models on growing numbers of the same pictures."""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.data import augmentation, literature, over_time, sizes, stored
from pages.shell import controls, page, registry, sections

VIEWS = {
    "sizes": ("Pictures", sizes.draw),
    "time": ("Training time", over_time.draw),
    "augmented": ("Augmentation", augmentation.draw),
    "papers": ("In the papers", literature.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="data"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["data"]
page.header(entry.title, entry.question)
controls.hold(stored.Which, sizes.Choice, over_time.Choice, augmentation.Choice, literature.Choice)
sections.choose(Choice.key("view"), VIEWS)()
