"""Frozen, validated descriptions of models: of each family its shape.

Every config is hashable (it can key a cache) and checked once when it is made; `vitviz.config` writes and reads them.
"""

from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, ClassVar, Literal

from vitviz.config_fields import Condition, Size, as_shape, check_fields, declare, describe, later

Positions = Literal["none", "sincos_1d", "sincos_2d_sum", "sincos_2d_concat", "learned", "pixels", "rotary"]
Readout = Literal["cls", "mean", "first_patch", "cls_mean", "map"]
Activation = Literal["gelu", "gelu_tanh", "quick_gelu", "relu", "silu"]
AttentionScale = Literal["head", "width", "none"]
Embed = Literal["conv", "unfold", "reshape"]
ClassOutput = Literal["softmax", "sigmoid", "raw"]
Family = Literal["vit", "deit", "hybrid", "swin", "cnn", "conv_attention", "flat_attention"]
_SHARE = "[0, 1)"
_image_size = partial(declare, label="Image size", unit="px")
_in_chans = partial(declare, label="Image channels")
_num_classes = partial(declare, 10, "Classes", within="[0, inf)")
_qkv_bias = partial(declare, True, "Bias in q, k, v", "Learned bias of queries, keys and values.")
_mlp_ratio = partial(
    declare, 4.0, "MLP ratio", "Hidden width of the MLP divided by its input width.", step=0.5
)
_dropout = partial(
    declare, 0.0, "Dropout", "Fraction of activations zeroed during training.", _SHARE, step=0.05
)
_attention_dropout = partial(
    declare, 0.0, "Attention dropout", "Fraction of attention weights zeroed.", _SHARE, step=0.05
)
_drop_path = partial(
    declare, 0.0, "Stochastic depth", "Probability of skipping a sublayer.", _SHARE, step=0.05
)
# What turns logits into what is shown: 'sigmoid' of several labels or one, 'raw' of a regression.
_class_output = partial(later, "softmax", "Function of the outputs")
_norm_eps = partial(declare, label="ε of LayerNorm", within="(0, 1)")


class ImageShape:
    """Images of a config with an `image_size`."""

    image_size: Any

    @property
    def image_shape(self) -> tuple[int, int]:
        """(height, width) of the images in px."""
        return as_shape(self.image_size)


BIAS_UNITS = 512  # of the network that gives a Swin V2 its bias


def mlp_width(dim: int, ratio: float) -> int:
    """Return the hidden units of an MLP: rounded down, but the ratio of two integers gives back the integer."""
    return int(dim * ratio + 1e-6)


@dataclass(frozen=True, repr=False)
class ViTConfig(ImageShape):
    """Shape of a Vision Transformer (Dosovitskiy et al. 2021) or a DeiT (Touvron et al. 2021); in pixels."""

    kind: ClassVar[str] = "vit"

    image_size: Size = _image_size(32)  # (height, width) where it is not square
    patch_size: int = declare(  # an 8 x 8 grid of a 32 px image: coarse enough to label each patch
        4, "Patch size", "Side of a patch; must divide the image size.", unit="px", top=64
    )
    in_chans: int = _in_chans(3)
    num_classes: int = _num_classes()  # 0: no head, as DINO's backbones
    embed_dim: int = declare(96, "Width D", "Dimension of the token vectors.", top=512)
    depth: int = declare(6, "Blocks", "Number of transformer blocks.", top=16)
    num_heads: int = declare(3, "Heads", "Attention heads per block; must divide the width.", top=32)
    mlp_ratio: float = _mlp_ratio()
    qkv_bias: bool = _qkv_bias()
    output_projection: bool = declare(True, "Output projection", "Linear map of the concatenated heads.")
    head_input: Literal["all", "slice"] = (
        declare(  # 'slice': each head maps its own D/heads values (recipe C)
            "all",
            "Input of a head",
            "Input of q, k and v; lecture C uses a slice.",
            options={"all": "whole token", "slice": "slice of the token"},
        )
    )
    attention_scale: AttentionScale = declare(  # 1/sqrt(d_head); 'width' is recipe D's 1/sqrt(D)
        "head",
        "Attention scale",
        "Factor of q·k; lecture D uses 1/√D.",
        options={"head": "1/√d (head width)", "width": "1/√D (model width)", "none": "none"},
    )
    norm: Literal["pre", "post", "res_post"] = declare(  # 'res_post': LN of the sublayer's output (Swin V2)
        "pre",
        "LayerNorm",
        "LayerNorm before or after each sublayer.",
        options={"pre": "pre-norm", "post": "post-norm"},
    )
    residual: bool = declare(True, "Residual connections", "Off: each sublayer's output replaces its input.")
    final_norm: bool = declare(True, "Final LayerNorm", "LayerNorm before the classifier head.")
    norm_eps: float = _norm_eps(1e-6)
    activation: Activation = declare(
        "gelu",
        "Activation",
        "Nonlinearity of the MLP.",
        options={"gelu": "GELU", "relu": "ReLU", "silu": "SiLU"},
    )
    positions: Positions = declare(  # 'pixels': a second linear map of the patch, recipe D's 'positions'
        "learned",
        "Position embedding",
        "Type of positional encoding.",
        options={
            "none": "No positions",
            "sincos_1d": "1-D sinusoidal",
            "sincos_2d_sum": "2-D summed",
            "sincos_2d_concat": "2-D concatenated",
            "learned": "Learned",
            "rotary": "2-D rotary",
            "pixels": "A second linear map of the pixels",
        },
    )
    # How learned ones are resized: timm's way; DINOv2's publisher has it off.
    positions_antialias: bool = declare(True, "Antialiasing of resized positions")
    # torchvision's way: the outer patches' positions stay the outer ones.
    positions_align_corners: bool = later(False, "Resized positions keep their corners")  # torchvision
    # Learned tables only; DINOv2 with registers has none there.
    position_on_prefix: bool = declare(True, "Position embedding of [CLS]")
    sincos_on_prefix: bool = declare(
        False,
        "Position of [CLS]",
        "Gives [CLS] position 0, as in recipe C of the lecture.",
        only=Condition("positions", ("sincos_1d",), "only 1-D sinusoidal positions include [CLS]"),
    )
    readout: Readout = declare(
        "cls",
        "Readout",
        "Input of the classifier head.",
        options={"cls": "[CLS]", "mean": "mean of patches", "first_patch": "first patch"},
        only=Condition("family", ("vit", "hybrid"), "a DeiT uses its class token and its distillation token"),
    )
    distilled: bool = declare(False, "Distillation token")  # DeiT's second token and second head
    num_registers: int = declare(  # 'reg1' to 'reg9': a pin and a link name each by one digit
        0, "Registers", "Extra learned tokens (Darcet et al. 2024).", "[0, 9]", top=8
    )
    embed: Embed = declare(
        "conv",
        "Patch embedding",
        "The first two compute the same function.",
        options={
            "conv": "convolution",
            "unfold": "unfold and linear map",
            "reshape": "reshape (a bug)",
        },
        only=Condition("family", ("vit", "deit"), "the convolutions compute the tokens"),
    )
    embed_bias: bool = declare(True, "Bias of the patch embedding")
    stem: tuple[int, ...] = declare(
        (),
        "Stem channels",
        "One 3 × 3 convolution per entry; the last log₂(patch), rounded up, have stride 2.",
    )
    layer_scale: float | None = declare(
        None, "LayerScale", "Initial scale (Touvron et al. 2021); 0: off.", step=0.1
    )
    dropout: float = _dropout()
    attention_dropout: float = _attention_dropout()
    drop_path: float = _drop_path()
    softmax_output: bool = declare(  # recipes C and D put a softmax before the cross-entropy
        False, "Softmax in the model", "A bug: the loss applies softmax again."
    )
    # Variants that only weights trained elsewhere have (`vitviz.models.formats`):
    class_output: ClassOutput = _class_output()
    head_dim: int = declare(0, "Width of a head", within="[0, inf)")  # 0: embed_dim / num_heads
    qk_norm: bool = declare(False, "LayerNorm of queries and keys")
    gated_mlp: bool = declare(False, "Gated MLP")  # SwiGLU: fc2(activation(gate) * value)
    patch_norms: bool = declare(False, "LayerNorms around the patch embedding")  # vit-pytorch
    embed_norm: bool = declare(False, "LayerNorm before the first block")  # CLIP
    unread_cls: bool = declare(False, "[CLS] that the head does not read")
    dist_head: bool = declare(True, "Head of the distillation token")
    pooled_norm: bool = declare(False, "LayerNorm after pooling")  # timm's fc_norm
    projection: int = declare(0, "Width of the image embedding", within="[0, inf)")  # CLIP; 0: none
    rope_theta: float = declare(
        100.0,
        "Base of rotary positions",
        "Larger: the slowest pairs of values turn more slowly.",
        "[1, inf)",
        step=10.0,
        only=Condition("positions", ("rotary",), "only 2-D rotary positions have a base"),
    )
    # Added after files and links were written without them: `as_fields` leaves them out at their defaults.
    rotary_beside: bool = later(False, "Rotary positions beside the table")  # EVA-02, PE
    rope_type: Literal["dinov3", "cat", "mixed"] = later("dinov3", "Angles of rotary positions")
    rope_interleaved: bool = later(False, "Rotary pairs of neighbouring values")
    rope_columns_first: bool = later(False, "Rotary columns before rows")
    rope_offset: float = later(0.0, "Offset of rotary positions")  # of the first row and column
    rope_reference: int = later(0, "Grid side of rotary positions", within="[0, inf)")  # 0: the image's own
    norm_layer: Literal["layer", "rms"] = later("layer", "Type of the norms")  # AIMv2: RMSNorm
    attn_norm: bool = later(False, "Norm of the concatenated heads")  # sub-LN: EVA-02, BEiT-3
    mlp_norm: bool = later(False, "Norm of the hidden units")
    patch_norm: bool = later(False, "Norm after the patch embedding")  # AIMv2
    pool_prefix: bool = later(False, "Prefix tokens in attention pooling")
    pool_heads: int = later(0, "Heads of attention pooling", within="[0, inf)")  # 0: num_heads
    pool_activation: Activation = later("gelu", "Activation of attention pooling")
    pool_ratio: float = later(0.0, "MLP ratio of attention pooling", within="[0, inf)")  # 0: mlp_ratio

    def __post_init__(self) -> None:
        check_fields(self)
        if any(side % self.patch_size for side in self.image_shape):
            raise ValueError(f"patch_size {self.patch_size} does not divide image_size {self.image_size}")
        if self.embed_dim % self.num_heads and not self.head_dim:
            raise ValueError(f"num_heads {self.num_heads} does not divide embed_dim {self.embed_dim}")
        self._check_variants()
        if not 1 <= self.mlp_ratio * self.embed_dim < inf:
            raise ValueError(f"mlp_ratio must give at least one hidden unit, received {self.mlp_ratio!r}")
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

    def _check_variants(self) -> None:
        if self.rotary and self.width_per_head % 4:
            raise ValueError(
                f"rotary positions need heads whose width 4 divides, received {self.width_per_head}"
            )
        if self.unread_cls and self.readout in ("cls", "cls_mean"):
            raise ValueError(f"unread_cls needs a readout of patches, received {self.readout!r}")
        if self.projection and self.num_classes:
            raise ValueError("projection is for a model without classes")
        if self.rotary_beside and self.positions != "learned":
            raise ValueError(f"rotary_beside needs positions 'learned', received {self.positions!r}")
        if self.readout == "map" and self.embed_dim % (self.pool_heads or self.num_heads):
            raise ValueError(f"pool_heads {self.pool_heads} does not divide embed_dim {self.embed_dim}")

    def _check_stem(self) -> None:
        halvings = (self.patch_size - 1).bit_length()
        if len(self.stem) < max(1, halvings):
            raise ValueError(
                f"a stem for patch_size {self.patch_size} needs at least {max(1, halvings)} layers,"
                f" received {len(self.stem)}"
            )
        if self.embed != "conv" or not self.embed_bias:
            raise ValueError(
                "a stem is made of convolutions with a bias at the end,"
                f" received embed {self.embed!r} and embed_bias {self.embed_bias}"
            )

    def __repr__(self) -> str:
        return describe(self)

    @property
    def family(self) -> Family:
        """A ViT, or what an option makes of it: a DeiT, or a hybrid."""
        return "deit" if self.distilled else "hybrid" if self.stem else "vit"

    @property
    def grid(self) -> tuple[int, int]:
        """(rows, cols) of patches at the native image size."""
        height, width = self.image_shape
        return height // self.patch_size, width // self.patch_size

    @property
    def rotary(self) -> bool:
        """True if queries and keys turn by angles of their patch, alone or beside a table."""
        return self.positions == "rotary" or self.rotary_beside

    @property
    def centred_rotary(self) -> bool:
        """True if rotary positions are all that this model has, with DINOv3's angles (`sinusoids.rotary_2d`)."""
        return self.positions == "rotary" and self.rope_type == "dinov3" and not self.rope_offset

    @property
    def plain_blocks(self) -> bool:
        """True if a block is attention and MLP with a LayerNorm each, and nothing more."""
        return not (self.attn_norm or self.mlp_norm or self.norm == "res_post" or self.norm_layer == "rms")

    @property
    def two_heads(self) -> bool:
        """True for a DeiT whose prediction is the mean of two heads' logits."""
        return self.distilled and self.dist_head

    @property
    def width_per_head(self) -> int:
        """Values of one head's query, key and value."""
        return self.head_dim or self.embed_dim // self.num_heads

    @property
    def prefix_tokens(self) -> tuple[str, ...]:
        """Names of the tokens before the patches, in the order of the sequence."""
        cls = ("cls",) if self.readout in ("cls", "cls_mean") or self.unread_cls else ()
        dist = ("dist",) if self.distilled else ()
        return (*cls, *dist, *(f"reg{i + 1}" for i in range(self.num_registers)))


@dataclass(frozen=True, repr=False)
class SwinConfig(ImageShape):
    """Shape of a Swin Transformer (Liu et al. 2021); lengths in pixels, window sizes in tokens."""

    kind: ClassVar[str] = "swin"
    family: ClassVar[Family] = "swin"

    image_size: int = _image_size(32)
    patch_size: int = declare(2, "Patch size", "Side of a patch in stage 1.", unit="px", top=64)
    in_chans: int = _in_chans(3)
    num_classes: int = _num_classes()
    embed_dim: int = declare(48, "Width of stage 1", "Doubles with every stage.", top=256)
    depths: tuple[int, ...] = declare(
        (2, 2), "Blocks per stage", "One number per stage; every second block shifts windows."
    )
    num_heads: tuple[int, ...] = declare((3, 6), "Heads per stage", "One number per stage.")
    window_size: int = declare(4, "Window", "Side of an attention window.", unit="tokens", top=32)
    mlp_ratio: float = _mlp_ratio()
    qkv_bias: bool = _qkv_bias()
    dropout: float = _dropout()
    attention_dropout: float = _attention_dropout()
    drop_path: float = _drop_path()
    norm_eps: float = _norm_eps(1e-5)
    masked: bool = declare(True, "Mask", "Off (a bug): opposite edges of the image attend to each other.")
    # They differ where the window does not divide the grid.
    convention: Literal["torchvision", "timm"] = declare("torchvision", "Padding convention")
    class_output: ClassOutput = _class_output()
    # Swin V2 (Liu et al. 2022): cosine attention, a small network of log-spaced offsets, norms after sublayers.
    cosine: bool = later(False, "Cosine attention of Swin V2")
    pretrained_windows: tuple[int, ...] = later(
        (), "Windows before fine-tuning", within="[0, inf)"
    )  # a stage; 0: same

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.depths or len(self.depths) != len(self.num_heads):
            raise ValueError(
                "depths and num_heads must have one entry per stage, received"
                f" {self.depths!r} and {self.num_heads!r}"
            )
        if self.image_size % self.patch_size:
            raise ValueError(f"patch_size {self.patch_size} does not divide image_size {self.image_size}")
        if len(self.pretrained_windows) not in (0, len(self.depths)):
            raise ValueError(
                f"pretrained_windows must have one entry per stage, received {self.pretrained_windows!r}"
            )
        for stage, heads in enumerate(self.num_heads):
            if (self.embed_dim * 2**stage) % heads:
                raise ValueError(
                    f"num_heads {heads} does not divide stage {stage}'s width {self.embed_dim * 2**stage}"
                )
        if not 1 <= self.mlp_ratio * self.embed_dim < inf:
            raise ValueError(f"mlp_ratio must give at least one hidden unit, received {self.mlp_ratio!r}")

    def __repr__(self) -> str:
        return describe(self)

    @property
    def stage_widths(self) -> tuple[int, ...]:
        """Channels of every stage: each merging doubles them."""
        return tuple(self.embed_dim * 2**stage for stage in range(len(self.depths)))


@dataclass(frozen=True)
class CNNConfig(ImageShape):
    """A small convolutional network: the baseline, and DeiT's teacher; lengths in pixels."""

    kind: ClassVar[str] = "cnn"
    family: ClassVar[Family] = "cnn"

    image_size: int = _image_size(32)
    in_chans: int = _in_chans(3)
    num_classes: int = _num_classes(within="[1, inf)")
    widths: tuple[int, ...] = declare(
        (32, 64, 128), "Channels per stage", "Each stage after the first halves the feature map."
    )
    blocks: tuple[int, ...] = declare(
        (1, 1, 1), "Blocks per stage", "Blocks of two 3 × 3 convolutions; the first may be 0.", "[0, inf)"
    )
    pooled: bool = declare(  # plain blocks and max pooling (Jordan 2024)
        False, "Plain, pooled", "Max pooling instead of strides, no residual connections."
    )
    whitened: bool = declare(False, "Whitened stem")  # 2 x 2 filters from the training images (Jordan 2024)

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.widths or len(self.widths) != len(self.blocks):
            raise ValueError(
                "widths and blocks must have one entry per stage,"
                f" received {self.widths!r} and {self.blocks!r}"
            )
        if not all(self.blocks[1:]):
            raise ValueError(f"blocks must be at least 1 after the first stage, received {self.blocks!r}")
        if self.whitened and (not self.pooled or self.widths[0] != 8 * self.in_chans or self.blocks[0]):
            raise ValueError(
                f"a CNN with whitened must have pooled, widths of {8 * self.in_chans}, … and blocks of 0, …,"
                f" received {self.pooled!r}, {self.widths!r} and {self.blocks!r}"
            )

        if self.whitened and self.stage_side(self.image_size, len(self.widths) - 1) < 1:
            raise ValueError(
                f"image_size must be at least {2 ** (len(self.widths) - 1) + 1} for {len(self.widths)} stages of a CNN"
                f" with whitened, received {self.image_size}"
            )

    def stage_side(self, side_px: int, stage: int) -> int:
        """Return the side of a stage's map: each stage after the first halves it, rounding up; whitened: down."""
        return (side_px - 1) >> stage if self.whitened else -(-side_px >> stage)


@dataclass(frozen=True)
class ConvAttentionConfig(ImageShape):
    """Attention over convolutions: 3 x 3 convolutions give queries, keys and values (recipe G)."""

    kind: ClassVar[str] = "conv_attention"
    family: ClassVar[Family] = "conv_attention"

    image_size: int = _image_size(28)
    in_chans: int = _in_chans(1)
    num_classes: int = _num_classes(within="[1, inf)")
    channels: int = declare(16, "Channels", "Channels of queries, keys and values.", top=256)
    scaled: bool = declare(True, "Scale by 1/√d", "Missing in the lecture's version.")
    transposed_values: bool = declare(False, "Transpose values", "The lecture's bug.")
    attends: bool = declare(True, "Attention", "Off: each pixel keeps its own value, y = V.")

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class FlatAttentionConfig(ImageShape):
    """'Attention' over the flat image (recipe E): one token, so its attention is the constant 1."""

    kind: ClassVar[str] = "flat_attention"
    family: ClassVar[Family] = "flat_attention"

    image_size: int = _image_size(28)
    in_chans: int = _in_chans(1)
    num_classes: int = _num_classes(within="[1, inf)")
    widths: tuple[int, int] = declare((128, 64), "Hidden widths", "Widths of the two hidden layers.")

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.widths) != 2:
            raise ValueError(f"expected two hidden widths, received {self.widths!r}")


ModelConfig = ViTConfig | SwinConfig | CNNConfig | ConvAttentionConfig | FlatAttentionConfig


def averages_batches(config: ModelConfig) -> bool:
    """Return True if a model has batch norms, which need whole batches."""
    return isinstance(config, CNNConfig) or (isinstance(config, ViTConfig) and bool(config.stem))
