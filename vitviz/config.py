"""Frozen, validated descriptions of models, of the preparation of images, and of training.

Every config is hashable (it can key a cache), checked once when it is made, and travels as JSON both ways.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal

from vitviz.config_checks import as_tuples, check_finite_numbers, fraction, one_of, positive, typed
from vitviz.config_models import (
    Activation,
    AttentionScale,
    CNNConfig,
    ConvAttentionConfig,
    Embed,
    FlatAttentionConfig,
    ModelConfig,
    Positions,
    Readout,
    SwinConfig,
    ViTConfig,
)

__all__ = [
    "Activation",
    "AttentionScale",
    "CNNConfig",
    "Config",
    "ConvAttentionConfig",
    "Embed",
    "FlatAttentionConfig",
    "ModelConfig",
    "Positions",
    "Preparation",
    "Readout",
    "SwinConfig",
    "TrainConfig",
    "ViTConfig",
    "from_dict",
    "from_json",
    "to_dict",
    "to_json",
]


@dataclass(frozen=True)
class Preparation:
    """Preprocessing of an image for a model: aspect-preserving resize, crop, channels, mean and std."""

    kind: ClassVar[str] = "preparation"

    image_size: int = 32
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    crop_fraction: float = 1.0  # the crop's side over the shorter side
    interpolation: Literal["bilinear", "bicubic"] = "bicubic"
    digit: bool = False  # a drawn digit: light on dark, centred by its mass, as MNIST's were

    def __post_init__(self) -> None:
        as_tuples(self, "mean", "std")
        positive(self, "image_size")
        typed(self)
        check_finite_numbers(self, "mean", "std")
        one_of(self, "interpolation", Literal["bilinear", "bicubic"])
        if len(self.mean) != len(self.std) or len(self.mean) not in (1, 3):
            raise ValueError(
                "mean and std must both have 1 (grey) or 3 (RGB) values,"
                f" received {self.mean!r} and {self.std!r}"
            )
        if any(s <= 0 for s in self.std):
            raise ValueError(f"std must be positive, received {self.std!r}")
        if not 0 < self.crop_fraction <= 1:
            raise ValueError(f"crop_fraction must lie in (0, 1], received {self.crop_fraction!r}")

    @property
    def in_chans(self) -> int:
        """1 for grey, 3 for RGB."""
        return len(self.mean)


@dataclass(frozen=True)
class TrainConfig:
    """A training run's data, optimisation and bookkeeping; everything but the model."""

    kind: ClassVar[str] = "train"

    dataset: str = "digits"
    train_fraction: float = 1.0
    a_class: int | None = None  # at most so many of each class; None: as many as the share brings
    validation_fraction: float = 0.1
    epochs: float | None = 10.0
    seconds: float | None = None
    stop_accuracy: float | None = None  # ends as soon as so much of the validation images is right
    patience: float | None = None  # ends after so many epochs without a better validation accuracy
    batch_size: int = 64
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = "adamw"
    learning_rate: float = 1e-3
    weight_decay: float = 0.05
    momentum: float = 0.9  # SGD only
    schedule: Literal["constant", "warmup_cosine", "one_cycle"] = "warmup_cosine"
    warmup_fraction: float = 0.1
    label_smoothing: float = 0.0
    gradient_clip: float | None = None
    ema_decay: float | None = None  # shown, evaluated and saved are the averaged weights
    flip: bool = False
    shift_px: int = 0
    erase_px: int = 0
    mixup_alpha: float = 0.0
    cutmix_alpha: float = 0.0
    frozen: tuple[str, ...] = ()  # parameter-name prefixes outside the optimiser (recipe A's patch_embed)
    stays_in_eval: bool = False  # after the first validation nobody calls model.train(): a common bug
    start_from: str | None = None  # what the weights are called that it begins with; None: random ones
    start_digest: str | None = None  # theirs
    head_learning_rate: float | None = None  # the new head's peak; None: as the body's
    layer_decay: float = 1.0  # each layer learns at so much of the rate of the one after it
    distill_from: str | None = None  # a checkpoint's path: DeiT's teacher
    distillation: Literal["hard", "soft"] = "hard"
    distillation_weight: float = 0.1  # DeiT's lambda, of a soft lesson only
    distillation_temperature: float = 3.0  # its tau
    precision: Literal["auto", "fp32"] = "auto"  # auto: bf16 where the processor has it
    threads: int = 1  # each computes a part of every batch; 0: as many as are free when the run is made
    clock: Literal["wall", "core"] = "wall"  # core: of the processor's own time, the same on a busy machine
    seed: int = 0
    snapshots: int = 12

    def __post_init__(self) -> None:
        as_tuples(self, "frozen")
        if not all(isinstance(name, str) for name in self.frozen):
            raise ValueError(f"frozen must hold texts, received {self.frozen!r}")
        positive(self, "batch_size", "snapshots")
        typed(self)
        for name, allowed in (
            ("optimizer", Literal["adamw", "adam", "sgd", "muon"]),
            ("schedule", Literal["constant", "warmup_cosine", "one_cycle"]),
            ("distillation", Literal["hard", "soft"]),
            ("precision", Literal["auto", "fp32"]),
            ("clock", Literal["wall", "core"]),
        ):
            one_of(self, name, allowed)
        fraction(self, "momentum", "warmup_fraction", "label_smoothing")
        _check_distillation(self)
        _check_start(self)
        if self.threads < 0:
            raise ValueError(f"threads must be an integer of at least 0, received {self.threads!r}")
        if self.a_class is not None and (self.a_class < 1 or self.train_fraction != 1):
            raise ValueError(
                "a_class must be at least 1 and has no train_fraction beside it,"
                f" received {self.a_class!r} and {self.train_fraction!r}"
            )
        if not 0 < self.train_fraction <= 1:
            raise ValueError(f"train_fraction must lie in (0, 1], received {self.train_fraction!r}")
        if not 0 < self.validation_fraction <= 0.5:
            raise ValueError(
                f"validation_fraction must lie in (0, 0.5], received {self.validation_fraction!r}"
            )
        if (self.epochs is None) == (self.seconds is None):
            raise ValueError(
                f"state exactly one of epochs and seconds, received {self.epochs!r} and {self.seconds!r}"
            )
        for name, highest in (("epochs", 10_000.0), ("seconds", 7 * 86_400.0)):
            value = getattr(self, name)
            if value is not None and not 0 < value <= highest:
                raise ValueError(f"{name} must lie in (0, {highest:g}], received {value!r}")
        _check_stops(self)
        _check_optimisation(self)


def _check_stops(config: TrainConfig) -> None:
    for name, highest in (("stop_accuracy", 1.0), ("patience", 10_000.0)):
        value = getattr(config, name)
        if value is not None and not 0 < value <= highest:
            raise ValueError(f"{name} must lie in (0, {highest:g}], received {value!r}")


def _check_optimisation(config: TrainConfig) -> None:
    if not 0 < config.learning_rate <= 10:
        raise ValueError(f"learning_rate must lie in (0, 10], received {config.learning_rate!r}")
    if not 0 <= config.weight_decay <= 10:
        raise ValueError(f"weight_decay must lie in [0, 10], received {config.weight_decay!r}")
    for name in ("shift_px", "erase_px", "mixup_alpha", "cutmix_alpha"):
        if not 0 <= getattr(config, name) <= 64:
            raise ValueError(f"{name} must lie in [0, 64], received {getattr(config, name)!r}")
    if config.gradient_clip is not None and config.gradient_clip <= 0:
        raise ValueError(f"gradient_clip must be positive, received {config.gradient_clip!r}")
    if config.ema_decay is not None and not 0 < config.ema_decay < 1:
        raise ValueError(f"ema_decay must lie in (0, 1), received {config.ema_decay!r}")


def _check_start(config: TrainConfig) -> None:
    if (config.start_from is None) != (config.start_digest is None):
        raise ValueError(
            "start_from and start_digest go together,"
            f" received {config.start_from!r} and {config.start_digest!r}"
        )
    if any(
        value is not None and not 0 < len(value) <= 200 for value in (config.start_from, config.start_digest)
    ):
        raise ValueError("start_from and start_digest must be of 1 to 200 characters")
    rate = config.head_learning_rate
    if rate is not None and not 0 < rate <= 10:
        raise ValueError(f"head_learning_rate must lie in (0, 10], received {rate!r}")
    if not 0 < config.layer_decay <= 1:
        raise ValueError(f"layer_decay must lie in (0, 1], received {config.layer_decay!r}")
    if config.optimizer == "muon" and (rate is not None or config.layer_decay != 1):
        raise ValueError(
            "muon has one learning rate: head_learning_rate and layer_decay need another optimizer"
        )


def _check_distillation(config: TrainConfig) -> None:
    for name, lowest, highest in (
        ("distillation_weight", 0.0, 1.0),
        ("distillation_temperature", 0.1, 100.0),
    ):
        if not lowest <= getattr(config, name) <= highest:
            raise ValueError(
                f"{name} must lie in [{lowest:g}, {highest:g}], received {getattr(config, name)!r}"
            )


Config = ModelConfig | Preparation | TrainConfig
_CLASSES: dict[str, type[Config]] = {
    cls.kind: cls
    for cls in (
        ViTConfig,
        SwinConfig,
        CNNConfig,
        ConvAttentionConfig,
        FlatAttentionConfig,
        Preparation,
        TrainConfig,
    )
}


def to_dict(config: Config) -> dict[str, Any]:
    """Return the config as plain JSON values, with its 'kind'."""
    return {"kind": config.kind, **asdict(config)}


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


def to_json(config: Config) -> str:
    """Return the config as one line of JSON, keys sorted."""
    return json.dumps(to_dict(config), sort_keys=True)


def from_json(text: str) -> Config:
    """Return the config written by `to_json`; raises ValueError if it is invalid."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    return from_dict(values)
