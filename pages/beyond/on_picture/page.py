"""The same picture before several models: what has to change until they change their answer?"""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.on_picture import change
from pages.shell import controls, page, registry

VIEWS = {"change": ("Change the picture", change.draw)}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="on_picture"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["on_your_picture"]
page.header(entry.title, entry.question)
change.draw()
