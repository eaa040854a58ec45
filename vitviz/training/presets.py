"""Read named trainings from presets.toml, each a preset in the lab and a command on the shell."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vitviz.config import ModelConfig, Preparation, TrainConfig, config_of, model_from_dict, to_dict
from vitviz.models.presets import PRESETS


@dataclass(frozen=True)
class TrainingPreset:
    """A model, preparation and recipe that `python -m vitviz.train NAME` runs, with the text of its card."""

    name: str
    title: str
    summary: str
    model: ModelConfig
    preparation: Preparation
    train: TrainConfig


def _read_presets() -> dict[str, TrainingPreset]:
    """Return the presets of the file and the lecture's recipes, all on as many threads as are free."""
    file = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    recipes: dict[str, dict[str, Any]] = {"": {"kind": "train", "threads": 0}}
    for name, values in file["recipes"].items():
        recipes[name] = recipes[values.pop("like", "")] | values
    presets = {}
    for name, entry in file["presets"].items():
        shape, train = PRESETS[entry["shape"]], recipes[entry["recipe"]] | entry.get("train", {})
        presets[name] = TrainingPreset(
            name,
            entry["title"],
            entry["summary"],
            model_from_dict(to_dict(shape.config) | entry.get("config", {})),
            shape.preparation,
            config_of(TrainConfig, {k: None if field == "off" else field for k, field in train.items()}),
        )
    for shape in PRESETS.values():
        if shape.train is not None:
            parts = (shape.name, shape.title, shape.summary, shape.config, shape.preparation)
            presets[shape.name] = TrainingPreset(*parts, replace(shape.train, threads=0))
    return presets


TRAINING_PRESETS = _read_presets()
