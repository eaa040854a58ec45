"""Experiments: one knob or one slip at a time, and why each part is there; stored over seeds, live by one click."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import sections, widgets
from pages.frame import page, registry
from pages.train.experiments import bug, gradient, hyperparameter, norms, positions, spot_the_bug

VIEWS = {
    "knob": ("One knob", hyperparameter.draw),
    "slip": ("One slip", bug.draw),
    "spot": ("Spot the mistake", spot_the_bug.draw),
    "gradient": ("Residuals", gradient.draw),
    "norms": ("LayerNorm", norms.draw),
    "positions": ("Positions", positions.draw),
}


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="experiments"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["experiments"]
page.header(entry.title, entry.question)
widgets.hold(
    hyperparameter.Choice, bug.Choice, spot_the_bug.Choice, gradient.Choice, norms.Choice, positions.Choice
)
sections.choose(Choice.key("view"), VIEWS)()
