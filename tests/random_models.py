"""Models with random weights, as a page or a measurement receives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from vitviz.config import ModelConfig, Preparation
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model


def random_model(
    config: ModelConfig, preparation: Preparation | None = None, seed: int = 1, **origin: Any
) -> LoadedModel:
    """Return a model; its classes are '0', '1', …, if `origin` does not name them."""
    size = Preparation(config.image_size)  # type: ignore[arg-type]
    known = {"title": "A model", "trained_on": None, "step": 0, "digest": "m"}
    known["classes"] = tuple(map(str, range(config.num_classes)))  # type: ignore[assignment]
    return LoadedModel(create_model(config, seed), config, preparation or size, **known | origin)  # type: ignore[arg-type]


def preset_model(name: str, **changes: Any) -> LoadedModel:
    """Return a preset's model, with changes of its config."""
    preset = PRESETS[name]
    config = replace(preset.config, **changes)
    preparation = replace(preset.preparation, image_size=config.image_size)
    return random_model(config, preparation, seed=0, title=preset.title, digest=name)
