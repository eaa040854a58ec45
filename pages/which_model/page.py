"""Which model when? What every model costs, how well it does, and when it is worth it."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.which_model import guide, paper_tables, scoreboard, token_cost

VIEWS = {
    "board": ("Scoreboard", scoreboard.draw),
    "papers": ("The papers' sizes", paper_tables.draw),
    "length": ("Cost over tokens", token_cost.draw),
    "guide": ("CNN or ViT?", guide.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="which_model"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["which_model"]
page.header(entry.title, entry.question)
widgets.hold(scoreboard.Choice, paper_tables.Choice, token_cost.Choice, token_cost.Guess)
sections.choose(Choice.key("view"), VIEWS)()
