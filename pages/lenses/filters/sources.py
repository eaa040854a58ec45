"""The first linear map of any model, at every snapshot: E of a ViT or Swin, the first convolution of others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
from torch import nn

from pages.selection import selection
from pages.stores import cached, catalogue, parameter_history
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import filters
from vitviz.analysis.filters import FloatArray, Look
from vitviz.config import ModelConfig, ViTConfig
from vitviz.models.abilities import abilities
from vitviz.models.zoo import create_model
from vitviz.probe.capture import as_array

SEED = 0
WHAT_E_IS = "E is the learned matrix that turns a patch of the picture into a token"


@dataclass(frozen=True, eq=False)
class Filters:
    """A model's first filters over time: (D, C, P, P) per moment, and the moment of the chosen step."""

    title: str
    note: str
    weights: list[FloatArray]
    moments: list[str]
    frame: int

    @property
    def now(self) -> FloatArray:
        """(D, C, P, P) at the chosen step."""
        return self.weights[self.frame]


def parameter_name(config: ModelConfig) -> str:
    """The name of the first map's weight, of a model that has `abilities.filters`."""
    if abilities(config).embedding:
        return "patch_embed.proj.weight"
    return "patch_embed.stem.0.weight" if abilities(config).stem else "stem.0.weight"


def of(choice: ModelChoice, step: int | None) -> Filters:
    """A model's filters at all its snapshots; `step` (None: the last) is the moment shown first."""
    name = parameter_name(choice.config)
    film = parameter_history.parameter(choice, name)
    note = (
        "random weights"
        if choice.trained_on is None
        else f"trained on {catalogue.data_title(choice.trained_on)}"
    )
    if film:
        steps = [moment for moment, _ in film]
        wanted = steps[-1] if step is None else step
        frame = int(np.abs(np.array(steps) - wanted).argmin())
        return Filters(
            choice.title, note, [w for _, w in film], parameter_history.moments(choice, steps), frame
        )
    now = selection.current()
    loaded = cached.loaded(choice, now.step if choice.key == now.model else None)
    return Filters(choice.title, note, [as_array(loaded.model.get_parameter(name))], [""], 0)


def change(model: Filters) -> Filters:
    """E less E at the first snapshot, from the second snapshot on; needs two snapshots or more."""
    start = model.weights[0]
    return Filters(
        model.title,
        f"{model.note}, less its first step",
        [weights - start for weights in model.weights[1:]],
        model.moments[1:],
        max(0, model.frame - 1),
    )


def random_twin(choice: ModelChoice) -> Filters:
    """The same first map before any training, from a fixed seed."""
    return Filters("Random weights", f"the same shape, seed {SEED}", [_random(choice.config)], [""], 0)


@cached.shared(most=16)
def _random(config: ModelConfig) -> FloatArray:
    # One block is enough for the first map of a ViT, and a large ViT takes seconds to draw.
    small = replace(config, depth=1) if isinstance(config, ViTConfig) else config
    return as_array(create_model(small, seed=SEED).get_parameter(parameter_name(config)))


@cached.shared(most=64)
def look(weights: FloatArray) -> Look:
    """How the components of filters (D, C, P, P) look; kept."""
    return filters.look(weights)


def bias(choice: ModelChoice, step: int) -> FloatArray | None:
    """E's bias at a step, (D,); None where it has none."""
    loaded = cached.loaded(choice, step)
    embed = cast(nn.Conv2d, loaded.model.get_submodule("patch_embed.proj"))
    return None if embed.bias is None else as_array(embed.bias)


def clearest() -> ModelChoice | None:
    """Of the shipped models the one whose E has the slowest waves, as measured; None where none has any."""
    measured = [
        (found.head, choice)
        for choice in catalogue.shipped()
        if choice.trained_on is not None
        and abilities(choice.config).embedding
        and (found := _shipped_look(choice)) is not None
        and found.waves
    ]
    return min(measured, key=lambda pair: pair[0])[1] if measured else None


def _shipped_look(choice: ModelChoice) -> Look | None:
    if choice.path is None:
        return None
    return _look(choice.path, choice.path.stat().st_mtime_ns, choice)


@cached.shared(most=64)
def _look(path: Path, modified_ns: int, _choice: ModelChoice) -> Look | None:
    weights = parameter_history.last(_choice, parameter_name(_choice.config))
    return None if weights is None else look(weights)
