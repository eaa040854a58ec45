"""Frozen, validated descriptions of models, of the preparation of images, and of training.

Every config is hashable (it can key a cache), checked once when it is made, and travels as JSON both ways.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import floor
from typing import Any, ClassVar, Literal, TypeVar

from vitviz.config_fields import (
    Condition,
    Setting,
    Size,
    as_fields,
    check_fields,
    declare,
    later,
    list_settings,
)
from vitviz.config_models import (
    Activation,
    AttentionScale,
    CNNConfig,
    ConvAttentionConfig,
    Embed,
    FlatAttentionConfig,
    ImageShape,
    ModelConfig,
    Positions,
    Readout,
    SwinConfig,
    ViTConfig,
)

__all__ = [
    "SETTINGS",
    "Activation",
    "AttentionScale",
    "CNNConfig",
    "Config",
    "ConvAttentionConfig",
    "Embed",
    "FlatAttentionConfig",
    "Interpolation",
    "ModelConfig",
    "Positions",
    "Preparation",
    "Readout",
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


_SOFT = Condition("distillation", ("soft",), "hard distillation has weight 0.5 and no temperature")


@dataclass(frozen=True)
class TrainConfig:
    """A training run's data, optimisation and bookkeeping; everything but the model."""

    kind: ClassVar[str] = "train"

    dataset: str = declare("digits", "Dataset")
    train_fraction: float = declare(
        1.0, "Training fraction", "Fraction of training images used.", "(0, 1]", step=0.1
    )
    a_class: int | None = declare(None, "Images per class")  # None: as many as the fraction gives
    validation_fraction: float = declare(
        0.1, "Validation fraction", "Fraction of training images held out.", "(0, 0.5]", step=0.05
    )
    epochs: float | None = declare(10.0, "Epochs", within="(0, 10000]")
    seconds: float | None = declare(None, "Seconds", within="(0, 604800]")
    stop_accuracy: float | None = declare(
        None,
        "Stop at accuracy, 0 to 1",
        "Validation accuracy that ends training: 0.9 for 90 %; 0: off. The learning rate's schedule keeps its length.",
        "(0, 1]",
        step=0.01,
    )
    patience: float | None = declare(
        None,
        "Patience",
        "Epochs without improvement that end training; 0: off.",
        "(0, 10000]",
        unit="epochs",
    )
    batch_size: int = declare(64, "Batch size", "Images per step.", top=4096)
    optimizer: Literal["adamw", "adam", "sgd", "muon"] = declare(
        "adamw",
        "Optimizer",
        "AdamW decouples weight decay from the gradient; Muon orthogonalises updates of hidden matrices.",
        options={"adamw": "AdamW", "adam": "Adam (L2)", "sgd": "SGD", "muon": "Muon"},
    )
    learning_rate: float = declare(1e-3, "Learning rate", "Peak value of the schedule.", "(0, 10]", step=5e-4)
    weight_decay: float = declare(
        0.05, "Weight decay", "Rate at which weights decay towards zero.", "[0, 10]", step=0.01
    )
    # Muon's matrices are a CNN's filters, each layer's of one norm; biases and head learn by SGD (Jordan 2024).
    fixed_norms: bool = declare(False, "Fixed norms of filters")
    momentum: float = declare(
        0.9,
        "Momentum",
        "Fraction of the previous update added to the next.",
        "[0, 1)",
        step=0.05,
        only=Condition("optimizer", ("sgd",), "only SGD uses this setting"),
    )
    schedule: Literal["constant", "warmup_cosine", "one_cycle"] = declare(
        "warmup_cosine",
        "Schedule",
        "Learning rate over the course of training.",
        options={
            "constant": "constant",
            "warmup_cosine": "warm-up, then cosine",
            "one_cycle": "one cycle",
        },
    )
    warmup_fraction: float = declare(
        0.1,
        "Warm-up fraction",
        "Fraction of training spent on warm-up; at least 0.3 with one cycle.",
        "[0, 1)",
        step=0.05,
        only=Condition(
            "schedule", ("warmup_cosine", "one_cycle"), "a constant learning rate does not warm up"
        ),
    )
    label_smoothing: float = declare(
        0.0, "Label smoothing", "Fraction of the target spread evenly over all classes.", "[0, 1)", step=0.05
    )
    gradient_clip: float | None = declare(
        None, "Gradient clipping norm", "Largest L2 norm; 0 turns clipping off.", "(0, inf)", step=0.5
    )
    ema_decay: float | None = declare(  # shown, evaluated and saved are the averaged weights
        None, "EMA decay", "Decay of the weights' moving average; 0: off.", "(0, 1)", step=0.01
    )
    flip: bool = declare(False, "Horizontal flip", "Flips half of the images; unsuitable for digits.")
    # Of each image in every other epoch (Jordan 2024).
    alternate_flip: bool = declare(False, "Alternating flip")
    shift_px: int = declare(0, "Largest shift", "Random shift of each image.", "[0, 64]", unit="px", top=16)
    erase_px: int = declare(
        0,
        "Cutout",
        "Side of an erased square (DeVries and Taylor 2017); 0: off.",
        "[0, 64]",
        unit="px",
        top=28,
    )
    mixup_alpha: float = declare(
        0.0, "Mixup α", "Blends two images (Zhang et al. 2018); 0: off.", "[0, 64]", step=0.1
    )
    cutmix_alpha: float = declare(
        0.0, "CutMix α", "Pastes part of another image (Yun et al. 2019); 0: off.", "[0, 64]", step=0.1
    )
    # Parameter-name prefixes outside the optimizer (recipe A's patch_embed).
    frozen: tuple[str, ...] = declare(
        (), "Frozen parameters", options={"patch_embed": "patch embedding", "pos_embed": "positions"}
    )
    stays_in_eval: bool = declare(  # after the first validation nobody calls model.train()
        False, "Stays in eval mode", "A common bug: dropout stays off after the first validation."
    )
    start_from: str | None = declare(None, "Initial weights")  # name; None: random
    start_digest: str | None = declare(None, "Digest of the initial weights")
    # Peak of the new head; None: as the backbone's.
    head_learning_rate: float | None = declare(None, "Learning rate of the head", within="(0, 10]")
    # Each layer's learning rate as a fraction of the next one's.
    layer_decay: float = declare(1.0, "Layer-wise learning-rate decay", within="(0, 1]")
    distill_from: str | None = declare(None, "Teacher")  # a checkpoint's path
    distillation: Literal["hard", "soft"] = declare(
        "hard",
        "Target",
        "Hard: the teacher's predicted class is the target. Soft: its probabilities are.",
        options={"hard": "hard: predicted class", "soft": "soft: probabilities"},
    )
    distillation_weight: float = declare(
        0.1,
        "Distillation weight",
        "Weight λ of the teacher's loss; the labels get 1 - λ.",
        "[0, 1]",
        step=0.05,
        only=_SOFT,
    )
    distillation_temperature: float = declare(
        3.0,
        "Temperature",
        "Divides the logits by τ; a higher value gives more uniform teacher probabilities.",
        "[0.1, 100]",
        step=0.5,
        only=_SOFT,
    )
    precision: Literal["auto", "fp32"] = declare(  # auto: bf16 where the processor has it
        "auto",
        "Precision",
        "Precision of training; input images are always fp32.",
        options={"auto": "bf16 if supported", "fp32": "fp32"},
    )
    threads: int = (
        declare(  # each computes a part of every batch; 0: as many as are free when the run is made
            1,
            "Threads",
            "CPU threads per batch; 0 uses all free cores, or one thread with BatchNorm.",
            "[0, inf)",
            top=64,
        )
    )
    # core: of the processor's own time, the same on a busy machine
    clock: Literal["wall", "core"] = declare("wall", "Clock")
    seed: int = declare(
        0,
        "Seed",
        "The same seed, thread count and machine give identical results.",
        "(-inf, inf)",
        top=1_000_000,
    )
    snapshots: int = declare(
        12, "Snapshots", "Number of snapshots on the timeline; they are denser at the start.", top=120
    )

    def __post_init__(self) -> None:
        check_fields(self)
        _check_start(self)
        if self.alternate_flip and not self.flip:
            raise ValueError("alternate_flip needs flip=True, received flip=False")
        if self.a_class is not None and self.train_fraction != 1:
            raise ValueError(
                "a_class has no train_fraction beside it,"
                f" received {self.a_class!r} and {self.train_fraction!r}"
            )
        if (self.epochs is None) == (self.seconds is None):
            raise ValueError(
                f"state exactly one of epochs and seconds, received {self.epochs!r} and {self.seconds!r}"
            )


def _check_start(config: TrainConfig) -> None:
    if (config.start_from is None) != (config.start_digest is None):
        raise ValueError(
            "start_from and start_digest go together,"
            f" received {config.start_from!r} and {config.start_digest!r}"
        )
    if any(
        text is not None and not 0 < len(text) <= 200 for text in (config.start_from, config.start_digest)
    ):
        raise ValueError("start_from and start_digest must be of 1 to 200 characters")
    if config.optimizer == "muon" and (config.head_learning_rate is not None or config.layer_decay != 1):
        raise ValueError(
            "muon has one learning rate: head_learning_rate and layer_decay need another optimizer"
        )


Config = ModelConfig | Preparation | TrainConfig
Kind = TypeVar("Kind", Preparation, TrainConfig, ViTConfig)
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
