"""Frozen, validated descriptions of models: of each family its shape.

Every config is hashable (it can key a cache) and checked once when it is made; `vitviz.config` writes and reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal

from vitviz.config_checks import as_tuples, fraction, is_integer, one_of, positive, typed

Positions = Literal["none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned", "pixels"]
Readout = Literal["cls", "mean", "first_patch"]
Activation = Literal["gelu", "relu", "silu"]
AttentionScale = Literal["head", "width", "none"]
Embed = Literal["conv", "unfold", "reshape"]
Family = Literal["vit", "deit", "hybrid", "swin", "cnn", "conv_attention", "flat_attention"]
MOST_REGISTERS = 9  # 'reg1' to 'reg9': a pin and a link name each by one digit


@dataclass(frozen=True)
class ViTConfig:
    """Shape of a Vision Transformer (Dosovitskiy et al. 2021) or a DeiT (Touvron et al. 2021); in pixels."""

    kind: ClassVar[str] = "vit"

    image_size: int = 32
    patch_size: int = 4  # an 8 x 8 grid of a 32 px image: coarse enough to label each patch
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
    residual: bool = True  # False: z = branch(z), what a block would be without its shortcuts
    final_norm: bool = True
    norm_eps: float = 1e-6
    activation: Activation = "gelu"
    positions: Positions = "learned"  # 'pixels': a second linear map of the patch, recipe D's 'positions'
    positions_antialias: bool = (
        True  # how learned ones are resized: timm's way; DINOv2's publisher has it off
    )
    position_on_prefix: bool = True  # learned tables only; DINOv2 with registers has none there
    sincos_on_prefix: bool = (
        False  # sincos_1d only: the sequence is counted from its first token, [CLS] (recipe C)
    )
    readout: Readout = "cls"
    distilled: bool = False  # DeiT's second token and second head
    num_registers: int = 0
    embed: Embed = "conv"  # conv and unfold are one and the same map; 'reshape' cuts rows of pixels, a bug
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
            ("embed", Embed),
        ):
            one_of(self, name, allowed)
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size {self.patch_size} does not divide image_size {self.image_size}")
        if self.embed_dim % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} does not divide embed_dim {self.embed_dim}")
        if self.num_classes < 0 or not 0 <= self.num_registers <= MOST_REGISTERS:
            raise ValueError(
                f"num_classes must be at least 0 and num_registers 0 to {MOST_REGISTERS},"
                f" received {self.num_classes} and {self.num_registers}"
            )
        if not 1 <= self.mlp_ratio * self.embed_dim < inf:
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
    def family(self) -> Family:
        """A ViT, or what an option makes of it: a DeiT, or a hybrid."""
        return "deit" if self.distilled else "hybrid" if self.stem else "vit"

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
    family: ClassVar[Family] = "swin"

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
    masked: bool = True  # False: a shifted window's far edges attend to each other, a common bug
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
        if not 1 <= self.mlp_ratio * self.embed_dim < inf:
            raise ValueError(f"mlp_ratio must give at least one hidden unit, received {self.mlp_ratio!r}")

    @property
    def stage_widths(self) -> tuple[int, ...]:
        """Channels of every stage: each merging doubles them."""
        return tuple(self.embed_dim * 2**stage for stage in range(len(self.depths)))


@dataclass(frozen=True)
class CNNConfig:
    """A small convolutional network: the baseline, and DeiT's teacher; lengths in pixels."""

    kind: ClassVar[str] = "cnn"
    family: ClassVar[Family] = "cnn"

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
    family: ClassVar[Family] = "conv_attention"

    image_size: int = 28
    in_chans: int = 1
    num_classes: int = 10
    channels: int = 16
    scaled: bool = True  # the lecture's version omits 1/sqrt(d)
    transposed_values: bool = False  # the lecture's bug: the value product transposed
    attends: bool = True  # False: y = V, the control that says what attention is worth

    def __post_init__(self) -> None:
        positive(self, "image_size", "in_chans", "num_classes", "channels")
        typed(self)


@dataclass(frozen=True)
class FlatAttentionConfig:
    """'Attention' over the flat image (recipe E): one token, so its attention is the constant 1."""

    kind: ClassVar[str] = "flat_attention"
    family: ClassVar[Family] = "flat_attention"

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


def averages_batches(config: ModelConfig) -> bool:
    """Return True if a model has batch norms, which need whole batches."""
    return isinstance(config, CNNConfig) or (isinstance(config, ViTConfig) and bool(config.stem))
