"""The same picture before several models: what has to change until they change their answer?"""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.lenses.on_your_picture import kernels, model_choice, parts, perturbation, prediction, translation
from pages.lenses.on_your_picture.part_selection import Taken
from pages.lenses.on_your_picture.view_state import Hand

VIEWS = {
    "change": ("Change the picture", perturbation.draw),
    "parts": ("A face in parts", parts.draw),
    "shift": ("Does a map move along?", translation.draw),
    "kernels": ("Kernel or head", kernels.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="on_picture"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["on_your_picture"]
page.header(entry.title, entry.question)
widgets.hold(
    model_choice.Choice,
    model_choice.OwnPicture,
    perturbation.Choice,
    prediction.Choice,
    Hand,
    Taken,
    translation.Choice,
    kernels.Choice,
    kernels.Guess,
)
sections.choose(Choice.key("view"), VIEWS)()
