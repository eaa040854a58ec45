"""Experiments: change one hyperparameter or add one bug, from stored results or live."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.frame import page
from pages.train.experiments import bug, gradient, hyperparameter, norms, positions, spot_the_bug

VIEWS = {
    "knob": ("One hyperparameter", hyperparameter.draw),
    "slip": ("One bug", bug.draw),
    "spot": ("Spot the mistake", spot_the_bug.draw),
    "gradient": ("Residuals", gradient.draw),
    "norms": ("LayerNorm", norms.draw),
    "positions": ("Positions", positions.draw),
}


@dataclass(frozen=True)
class ExperimentControls(widgets.ControlValues, page="experiments"):
    """The selected view of `VIEWS`."""

    view: str


page.header("experiments")
widgets.keep_pending(
    hyperparameter.HyperparameterControls,
    bug.BugControls,
    spot_the_bug.PuzzleControls,
    gradient.GradientControls,
    norms.NormControls,
    positions.PositionControls,
)
widgets.choose_section(ExperimentControls.key("view"), VIEWS)()
