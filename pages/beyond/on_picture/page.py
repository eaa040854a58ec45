"""The same picture before several models: what has to change until they change their answer?"""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.on_picture import change, choosing, guess, kernels, parts, translation
from pages.beyond.on_picture.hand import Hand
from pages.beyond.on_picture.taking import Taken
from pages.shell import controls, page, registry, sections

VIEWS = {
    "change": ("Change the picture", change.draw),
    "parts": ("A face in parts", parts.draw),
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
    Taken,
    translation.Choice,
    kernels.Choice,
    kernels.Guess,
)
sections.choose(Choice.key("view"), VIEWS)()
