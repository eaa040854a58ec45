"""Read named model shapes from presets.toml: the papers' sizes, this project's small ones, and the lecture's recipes.

Stochastic depth is left to the training.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from vitviz.config import (
    ModelConfig,
    Preparation,
    SwinConfig,
    TrainConfig,
    ViTConfig,
    config_of,
    model_from_dict,
    to_dict,
)


@dataclass(frozen=True)
class Preset:
    """A named shape: the model's config, how its images are prepared, and one sentence about it.

    `train` is the lecture's training recipe; None if the user chooses one.
    """

    name: str
    title: str
    config: ModelConfig
    preparation: Preparation
    summary: str
    train: TrainConfig | None = None


GREY_32 = Preparation(image_size=32, mean=(0.5,), std=(0.5,), digit=True)
RGB_32 = Preparation(image_size=32, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
GREY_28 = Preparation(image_size=28, mean=(0.1307,), std=(0.3081,), digit=True)
GREY_28_HALF = Preparation(image_size=28, mean=(0.5,), std=(0.5,), digit=True)  # recipe D's
IMAGENET_224 = Preparation(
    image_size=224, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), crop_fraction=0.9
)
_PREPARATIONS = {
    "grey_32": GREY_32,
    "rgb_32": RGB_32,
    "grey_28": GREY_28,
    "grey_28_half": GREY_28_HALF,
    "imagenet_224": IMAGENET_224,
}
_ADAM = {"kind": "train", "optimizer": "adam", "weight_decay": 0.0, "schedule": "constant"}


def _read_presets() -> dict[str, Preset]:
    presets: dict[str, Preset] = {}
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
        config, train, preparation = entry.get("config", {}), entry.get("train", {}), entry.get("preparation")
        if base := presets.get(entry.get("like", "")):
            config = to_dict(base.config) | config
            train = train if base.train is None else to_dict(base.train) | train
        elif train:
            train = _ADAM | train
        presets[name] = Preset(
            name,
            entry["title"],
            model_from_dict(config),
            base.preparation if base and preparation is None else _PREPARATIONS[preparation],
            entry["summary"],
            config_of(TrainConfig, train) if train else None,
        )
    return presets


PRESETS = _read_presets()
VIT_DIGITS = cast(ViTConfig, PRESETS["vit_digits"].config)
SWIN_DIGITS = cast(SwinConfig, PRESETS["swin_digits"].config)
