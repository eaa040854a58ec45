"""Frozen, validated descriptions of models, of the preparation of pictures, and of training.

Every config is hashable (it can key a cache), checked once when it is made, and travels as JSON both ways.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal

from vitviz.config_checks import as_tuples, fraction, is_integer, numbers, one_of, positive, typed

Positions = Literal["none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned", "pixels"]
Readout = Literal["cls", "mean", "first_patch"]
Activation = Literal["gelu", "relu", "silu"]
AttentionScale = Literal["head", "width", "none"]


@dataclass(frozen=True)
class ViTConfig:
    """Shape of a Vision Transformer (Dosovitskiy et al. 2021) or a DeiT (Touvron et al. 2021); in pixels."""

    kind: ClassVar[str] = "vit"

    image_size: int = 32
    patch_size: int = 4  # an 8 x 8 grid of a 32 px picture: coarse enough to label each patch
    in_chans: int = 3
    num_classes: int = 10  # 0: no head, as DINO's backbones
    embed_dim: int = 96
    depth: int = 6
    num_heads: int = 3
    mlp_ratio: float = 4.0
    qkv_bias: bool = True
    output_projection: bool = True
    head_input: Literal["all", "slice"] = "all"  # 'slice': each head maps its own D/heads values (recipe C)
    attention_scale: AttentionScale = "head"  # 1/sqrt(d_head); 'width' is recipe D's 1/sqrt(D)
    norm: Literal["pre", "post"] = "pre"
    final_norm: bool = True
    norm_eps: float = 1e-6
    activation: Activation = "gelu"
    positions: Positions = "learned"  # 'pixels': a second linear map of the patch, recipe D's 'positions'
    position_on_prefix: bool = True  # learned tables only; DINOv2 with registers has none there
    readout: Readout = "cls"
    distilled: bool = False  # DeiT's second token and second head
    num_registers: int = 0
    embed: Literal["conv", "unfold"] = "conv"  # two ways to compute one and the same map
    embed_bias: bool = True
    stem: tuple[int, ...] = ()  # channels of 3 x 3 convolutions before the tokens: the hybrid
    layer_scale: float | None = None
    dropout: float = 0.0
    attention_dropout: float = 0.0
    drop_path: float = 0.0
    softmax_output: bool = False  # recipes C and D put a softmax before the cross-entropy

    def __post_init__(self) -> None:
        as_tuples(self, "stem")
        positive(self, "image_size", "patch_size", "in_chans", "embed_dim", "depth", "num_heads")
        typed(self)
        fraction(self, "dropout", "attention_dropout", "drop_path")
        for name, allowed in (
            ("head_input", Literal["all", "slice"]),
            ("attention_scale", AttentionScale),
            ("norm", Literal["pre", "post"]),
            ("activation", Activation),
            ("positions", Positions),
            ("readout", Readout),
            ("embed", Literal["conv", "unfold"]),
        ):
            one_of(self, name, allowed)
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size {self.patch_size} does not divide image_size {self.image_size}")
        if self.embed_dim % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} does not divide embed_dim {self.embed_dim}")
        if self.num_classes < 0 or self.num_registers < 0:
            raise ValueError(
                "num_classes and num_registers must be at least 0,"
                f" received {self.num_classes} and {self.num_registers}"
            )
        if self.mlp_ratio * self.embed_dim < 1:
            raise ValueError(f"mlp_ratio must give at least one hidden unit, received {self.mlp_ratio!r}")
        if not 0 < self.norm_eps < 1:
            raise ValueError(f"norm_eps must lie between 0 and 1, received {self.norm_eps!r}")
        if self.positions in ("sincos_1d", "sincos_2d_sum") and self.embed_dim % 2:
            raise ValueError(f"{self.positions} needs an even embed_dim, received {self.embed_dim}")
        if self.positions == "sincos_2d_concat" and (self.embed_dim % 4 or self.embed_dim < 8):
            raise ValueError(
                f"sincos_2d_concat needs an embed_dim of at least 8 that 4 divides, received {self.embed_dim}"
            )
        if self.distilled and self.readout != "cls":
            raise ValueError(f"a distilled model needs readout 'cls', received {self.readout!r}")
        if self.stem:
            self._check_stem()

    def _check_stem(self) -> None:
        halvings = (self.patch_size - 1).bit_length()
        if len(self.stem) < max(1, halvings):
            raise ValueError(
                f"a stem for patch_size {self.patch_size} needs at least {max(1, halvings)} layers,"
                f" received {len(self.stem)}"
            )
        if any(not is_integer(width) or width < 1 for width in self.stem):
            raise ValueError(f"stem widths must be integers of at least 1, received {self.stem!r}")
        if self.embed != "conv" or not self.embed_bias:
            raise ValueError(
                "a stem is made of convolutions with a bias at the end,"
                f" received embed {self.embed!r} and embed_bias {self.embed_bias}"
            )

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, cols) of patches at the native image size."""
        side = self.image_size // self.patch_size
        return side, side

    @property
    def prefix_tokens(self) -> tuple[str, ...]:
        """Names of the tokens before the patches, in the order of the sequence."""
        cls = ("cls",) if self.readout == "cls" else ()
        dist = ("dist",) if self.distilled else ()
        return (*cls, *dist, *(f"reg{i + 1}" for i in range(self.num_registers)))


@dataclass(frozen=True)
class SwinConfig:
    """Shape of a Swin Transformer (Liu et al. 2021); lengths in pixels, window sizes in tokens."""

    kind: ClassVar[str] = "swin"

    image_size: int = 32
    patch_size: int = 2
    in_chans: int = 3
    num_classes: int = 10
    embed_dim: int = 48
    depths: tuple[int, ...] = (2, 2)
    num_heads: tuple[int, ...] = (3, 6)
    window_size: int = 4
    mlp_ratio: float = 4.0
    qkv_bias: bool = True
    dropout: float = 0.0
    attention_dropout: float = 0.0
    drop_path: float = 0.0
    norm_eps: float = 1e-5
    convention: Literal["torchvision", "timm"] = "torchvision"  # they differ where the window does not divide

    def __post_init__(self) -> None:
        as_tuples(self, "depths", "num_heads")
        positive(self, "image_size", "patch_size", "in_chans", "embed_dim", "window_size")
        typed(self)
        fraction(self, "dropout", "attention_dropout", "drop_path")
        one_of(self, "convention", Literal["torchvision", "timm"])
        if self.num_classes < 0:
            raise ValueError(f"num_classes must be at least 0, received {self.num_classes}")
        if not 0 < self.norm_eps < 1:
            raise ValueError(f"norm_eps must lie between 0 and 1, received {self.norm_eps!r}")
        if not self.depths or len(self.depths) != len(self.num_heads):
            raise ValueError(
                "depths and num_heads must have one entry per stage, received"
                f" {self.depths!r} and {self.num_heads!r}"
            )
        if any(not is_integer(n) or n < 1 for n in (*self.depths, *self.num_heads)):
            raise ValueError(
                f"depths and num_heads must be at least 1, received {self.depths!r} and {self.num_heads!r}"
            )
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size {self.patch_size} does not divide image_size {self.image_size}")
        for stage, heads in enumerate(self.num_heads):
            if (self.embed_dim * 2**stage) % heads:
                raise ValueError(
                    f"num_heads {heads} does not divide stage {stage}'s width {self.embed_dim * 2**stage}"
                )
        if self.mlp_ratio * self.embed_dim < 1:
            raise ValueError(f"mlp_ratio must give at least one hidden unit, received {self.mlp_ratio!r}")


@dataclass(frozen=True)
class CNNConfig:
    """A small convolutional network: the baseline, and DeiT's teacher; lengths in pixels."""

    kind: ClassVar[str] = "cnn"

    image_size: int = 32
    in_chans: int = 3
    num_classes: int = 10
    widths: tuple[int, ...] = (32, 64, 128)
    blocks: tuple[int, ...] = (1, 1, 1)
    pooled: bool = False  # plain blocks and max pooling (Jordan 2024), not residual blocks and strides

    def __post_init__(self) -> None:
        as_tuples(self, "widths", "blocks")
        positive(self, "image_size", "in_chans", "num_classes")
        typed(self)
        if not self.widths or len(self.widths) != len(self.blocks):
            raise ValueError(
                "widths and blocks must have one entry per stage,"
                f" received {self.widths!r} and {self.blocks!r}"
            )
        if any(not is_integer(n) or n < 1 for n in (*self.widths, *self.blocks[1:])):
            raise ValueError(
                f"widths and blocks must be at least 1, received {self.widths!r} and {self.blocks!r}"
            )
        if not is_integer(self.blocks[0]) or self.blocks[0] < 0:
            raise ValueError(f"the first stage has at least 0 blocks, received {self.blocks[0]!r}")


@dataclass(frozen=True)
class ConvAttentionConfig:
    """Attention over convolutions: 3 x 3 convolutions give queries, keys and values (recipe G)."""

    kind: ClassVar[str] = "conv_attention"

    image_size: int = 28
    in_chans: int = 1
    num_classes: int = 10
    channels: int = 16
    scaled: bool = True  # the lecture's version omits 1/sqrt(d)
    transposed_values: bool = False  # the lecture's slip: the value product transposed

    def __post_init__(self) -> None:
        positive(self, "image_size", "in_chans", "num_classes", "channels")
        typed(self)


@dataclass(frozen=True)
class FlatAttentionConfig:
    """'Attention' over the flat picture (recipe E): one token, so its attention is the constant 1."""

    kind: ClassVar[str] = "flat_attention"

    image_size: int = 28
    in_chans: int = 1
    num_classes: int = 10
    widths: tuple[int, int] = (128, 64)

    def __post_init__(self) -> None:
        as_tuples(self, "widths")
        positive(self, "image_size", "in_chans", "num_classes")
        typed(self)
        if len(self.widths) != 2 or any(not is_integer(n) or n < 1 for n in self.widths):
            raise ValueError(f"widths must be two integers of at least 1, received {self.widths!r}")


ModelConfig = ViTConfig | SwinConfig | CNNConfig | ConvAttentionConfig | FlatAttentionConfig


@dataclass(frozen=True)
class Preparation:
    """How a picture becomes a model's input: aspect-preserving resize, crop, channels, mean and std."""

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
        numbers(self, "mean", "std")
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
    validation_fraction: float = 0.1
    epochs: float | None = 10.0
    seconds: float | None = None
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
    distill_from: str | None = None  # a checkpoint's path: DeiT's teacher
    distillation: Literal["hard", "soft"] = "hard"
    precision: Literal["auto", "fp32"] = "auto"  # auto: bf16 where the processor has it
    threads: int = 1
    seed: int = 0
    snapshots: int = 12

    def __post_init__(self) -> None:
        as_tuples(self, "frozen")
        if not all(isinstance(name, str) for name in self.frozen):
            raise ValueError(f"frozen must hold texts, received {self.frozen!r}")
        positive(self, "batch_size", "threads", "snapshots")
        typed(self)
        for name, allowed in (
            ("optimizer", Literal["adamw", "adam", "sgd", "muon"]),
            ("schedule", Literal["constant", "warmup_cosine", "one_cycle"]),
            ("distillation", Literal["hard", "soft"]),
            ("precision", Literal["auto", "fp32"]),
        ):
            one_of(self, name, allowed)
        fraction(self, "momentum", "warmup_fraction", "label_smoothing")
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
        if not 0 < self.learning_rate <= 10:
            raise ValueError(f"learning_rate must lie in (0, 10], received {self.learning_rate!r}")
        if not 0 <= self.weight_decay <= 10:
            raise ValueError(f"weight_decay must lie in [0, 10], received {self.weight_decay!r}")
        for name in ("shift_px", "erase_px", "mixup_alpha", "cutmix_alpha"):
            if not 0 <= getattr(self, name) <= 64:
                raise ValueError(f"{name} must lie in [0, 64], received {getattr(self, name)!r}")
        if self.gradient_clip is not None and self.gradient_clip <= 0:
            raise ValueError(f"gradient_clip must be positive, received {self.gradient_clip!r}")
        if self.ema_decay is not None and not 0 < self.ema_decay < 1:
            raise ValueError(f"ema_decay must lie in (0, 1), received {self.ema_decay!r}")


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
    """The config as plain JSON values, with its 'kind'."""
    return {"kind": config.kind, **asdict(config)}


def from_dict(values: dict[str, Any]) -> Config:
    """The config that `to_dict` wrote; raises ValueError where a name or a value does not fit."""
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
    """The config as one line of JSON, keys sorted."""
    return json.dumps(to_dict(config), sort_keys=True)


def from_json(text: str) -> Config:
    """The config that `to_json` wrote; raises ValueError where it does not fit."""
    try:
        values = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from error
    return from_dict(values)
