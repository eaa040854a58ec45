"""Frozen, validated description of the preparation of images; every config by name, and as JSON.

Every config is hashable (it can key a cache), checked once when it is made, and travels as JSON both ways.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import floor
from typing import Any, ClassVar, Literal, TypeVar, get_args

from vitviz.config_fields import (
    Setting,
    Size,
    as_fields,
    check_fields,
    declare,
    later,
    list_settings,
)
from vitviz.config_models import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ImageShape,
    ModelConfig,
    SwinConfig,
    ViTConfig,
)
from vitviz.config_training import TrainConfig

__all__ = [
    "SETTINGS",
    "CNNConfig",
    "Config",
    "ConvAttentionConfig",
    "FlatAttentionConfig",
    "Interpolation",
    "ModelConfig",
    "Preparation",
    "SwinConfig",
    "TrainConfig",
    "ViTConfig",
    "config_of",
    "from_dict",
    "model_from_dict",
    "name_fields",
    "to_dict",
]

LARGEST_INPUT = 1e6  # publishers' prepared pixels are at most 255 / 0.2 = 1,275

Interpolation = Literal["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]


@dataclass(frozen=True)
class Preparation(ImageShape):
    """Preprocessing of an image as its model's publisher does it: resize, crop, channels, mean and std."""

    kind: ClassVar[str] = "preparation"

    image_size: Size = declare(32, "Image size", unit="px")  # (height, width) where it is not square
    mean: tuple[float, ...] = declare((0.5, 0.5, 0.5), "Mean")
    std: tuple[float, ...] = declare((0.5, 0.5, 0.5), "Standard deviation")
    # timm's crop_pct: the crop's side over the resized side; above 1 the image is padded.
    crop_fraction: float = declare(1.0, "Crop", within="(0, 16]")
    interpolation: Interpolation = declare("bicubic", "Interpolation")
    # A drawn digit: light on dark, centred by its mass, as MNIST's were.
    digit: bool = declare(False, "Drawn digit")
    # The side that becomes `resized_shape`: 'squash' both, 'none' neither. Of images that are not square, the side
    # that then covers them ('shorter') or fits into them ('longer').
    resize: Literal["shorter", "longer", "squash", "none"] = later("shorter", "Resized side")
    fill: Literal["black", "mean"] = later("black", "Colour of padding")
    # Of the left edge of a centre crop: timm and torchvision half to even, transformers down.
    crop_rounding: Literal["even", "down"] = later("even", "Rounding of the crop")
    pixel_range: float = later(255.0, "Divisor of pixel values", within="(0, inf)")
    # DINOv3's publisher resizes in floats; the others round to whole levels.
    whole_levels: bool = later(True, "Rounding of resized pixels")

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.mean) != len(self.std) or len(self.mean) not in (1, 3):
            raise ValueError(
                "mean and std must both have 1 (grey) or 3 (RGB) values,"
                f" received {self.mean!r} and {self.std!r}"
            )
        if self.digit and isinstance(self.image_size, tuple):
            raise ValueError(f"a drawn digit needs a square image_size, received {self.image_size!r}")
        if any(s <= 0 for s in self.std):
            raise ValueError(f"std must be positive, received {self.std!r}")
        if (largest := self._largest_number()) > LARGEST_INPUT:
            raise ValueError(
                f"mean, std, pixel_range and the pixels that they prepare must be at most {LARGEST_INPUT:g}, because"
                f" fp32 cannot hold what a model computes of larger ones, received {largest:.3g}"
            )

    def _largest_number(self) -> float:
        """Return the largest absolute value of the numbers that prepare a pixel, and of black and white prepared."""
        white = 255 / self.pixel_range
        prepared = [
            max(abs(mean), abs(white - mean)) / std for mean, std in zip(self.mean, self.std, strict=True)
        ]
        return max(*map(abs, self.mean), *self.std, self.pixel_range, *prepared)

    @property
    def in_chans(self) -> int:
        """1 for grey, 3 for RGB."""
        return len(self.mean)

    @property
    def resized_shape(self) -> tuple[int, int]:
        """(height, width) before the crop: timm rounds down, so 224 px at 0.9 are cut from 248 px."""
        height, width = self.image_shape
        # 224 / (224 / 256) must be 256
        return floor(height / self.crop_fraction + 1e-6), floor(width / self.crop_fraction + 1e-6)


Config = ModelConfig | Preparation | TrainConfig
Kind = TypeVar("Kind", Preparation, TrainConfig, ViTConfig)
_CLASSES: dict[str, type[Config]] = {cls.kind: cls for cls in get_args(Config)}
SETTINGS: dict[str, Setting] = {  # by name; a ViT's where families share a name
    name: setting
    for cls in reversed((ViTConfig, TrainConfig, *_CLASSES.values()))
    for name, setting in list_settings(cls).items()
}


def name_fields(message: str) -> str:
    """Return an error message with labels instead of field and option names: 'Heads' for num_heads."""
    labels = dict(SETTINGS["positions"].options) | {name: s.label for name, s in SETTINGS.items()}
    return re.sub(
        r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+(?= must | and [a-z_]+ must )",
        lambda name: labels.get(name[0], name[0].replace("_", " ")),
        message,
    )


def to_dict(config: Config) -> dict[str, Any]:
    """Return the config as plain JSON values, with its 'kind'."""
    return {"kind": config.kind, **as_fields(config)}


def from_dict(values: dict[str, Any]) -> Config:
    """Return the config that `to_dict` wrote; raises ValueError where a name or a value does not fit."""
    if not isinstance(values, dict):
        raise ValueError(f"a config is an object, received {type(values).__name__}")
    kind = values.get("kind")
    if not isinstance(kind, str) or kind not in _CLASSES:
        raise ValueError(f"kind must be one of {', '.join(_CLASSES)}, received {kind!r}")
    cls = _CLASSES[kind]
    known = {field.name for field in fields(cls)}
    unknown = sorted(set(values) - known - {"kind"})
    if unknown:
        raise ValueError(f"a {kind} config has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    given: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k != "kind"
    }
    make: Callable[..., Config] = cls
    try:
        return make(**given)
    except TypeError as error:
        raise ValueError(f"a value of this {kind} config has the wrong type: {error}") from error


def model_from_dict(values: dict[str, Any]) -> ModelConfig:
    """Return a model's config, as `from_dict`."""
    config = from_dict(values)
    if isinstance(config, Preparation | TrainConfig):
        raise ValueError(f"config must describe a model, received a {config.kind} config")
    return config


def config_of(kind: type[Kind], values: dict[str, Any]) -> Kind:
    """Return a config of one class, as `from_dict`."""
    config = from_dict(values)
    if not isinstance(config, kind):
        raise ValueError(f"expected a {kind.kind} config, received {config.kind}")
    return config
