"""Which model when? What every model costs, how well it does, and when it is worth it."""

from __future__ import annotations

from dataclasses import dataclass

from pages.beyond.which import guide, length, papers, scoreboard
from pages.shell import controls, page, registry, sections

VIEWS = {
    "board": ("Scoreboard", scoreboard.draw),
    "papers": ("The papers' sizes", papers.draw),
    "length": ("Cost over tokens", length.draw),
    "guide": ("CNN or ViT?", guide.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="which_model"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["which_model"]
page.header(entry.title, entry.question)
controls.hold(scoreboard.Choice, papers.Choice, length.Choice, length.Guess)
sections.choose(Choice.key("view"), VIEWS)()
