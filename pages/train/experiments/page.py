"""Experiments: one knob or one slip at a time, and why each part is there; stored over seeds, live by one click."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shell import controls, page, registry, sections
from pages.train.experiments import gradient, knob, norms, positions, slip, spot

VIEWS = {
    "knob": ("One knob", knob.draw),
    "slip": ("One slip", slip.draw),
    "spot": ("Spot the mistake", spot.draw),
    "gradient": ("Residuals", gradient.draw),
    "norms": ("LayerNorm", norms.draw),
    "positions": ("Positions", positions.draw),
}


@dataclass(frozen=True)
class Choice(controls.Chosen, page="experiments"):
    """Which of `VIEWS` is shown."""

    view: str


entry = registry.BY_SLUG["experiments"]
page.header(entry.title, entry.question)
controls.hold(knob.Choice, slip.Choice, spot.Choice, gradient.Choice, norms.Choice, positions.Choice)
sections.choose(Choice.key("view"), VIEWS)()
