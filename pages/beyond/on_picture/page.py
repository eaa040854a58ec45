"""The same picture before several models: what has to change until they change their answer?"""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.on_picture import change, choosing, guess, kernels, translation
from pages.beyond.on_picture.hand import Hand
from pages.shell import controls, page, registry, sections

VIEWS = {
    "change": ("Change the picture", change.draw),
    "shift": ("Does a map move along?", translation.draw),
    "kernels": ("Kernel or head", kernels.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="on_picture"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["on_your_picture"]
page.header(entry.title, entry.question)
controls.hold(
    choosing.Choice,
    choosing.OwnPicture,
    change.Choice,
    guess.Choice,
    Hand,
    translation.Choice,
    kernels.Choice,
)
sections.choose(Choice.key("view"), VIEWS)()
