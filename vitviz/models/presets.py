"""Named model shapes: the papers' sizes, this project's small ones, and the lecture's recipes.

Sizes of the papers: ViT, table 1; DeiT, table 1; Swin, section 3.3; stochastic depth is left to the training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vitviz.config import (
    CNNConfig,
    ConvAttentionConfig,
    FlatAttentionConfig,
    ModelConfig,
    Preparation,
    SwinConfig,
    TrainConfig,
    ViTConfig,
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

VIT_DIGITS = ViTConfig(
    image_size=32, patch_size=4, in_chans=1, embed_dim=64, depth=4, num_heads=4, mlp_ratio=2.0
)
VIT_SHAPES = ViTConfig(num_classes=4, embed_dim=64, depth=4, num_heads=4, mlp_ratio=2.0)
VIT_MNIST = ViTConfig(
    image_size=28, patch_size=4, in_chans=1, embed_dim=64, depth=4, num_heads=4, mlp_ratio=2.0
)
VIT_CIFAR10 = ViTConfig(embed_dim=128, depth=6, num_heads=4, mlp_ratio=2.0)
SWIN_DIGITS = SwinConfig(in_chans=1, embed_dim=32, depths=(2, 2), num_heads=(2, 4), mlp_ratio=2.0)
# After two epochs, plain blocks of 64, 256 and 256 channels had 82.9 % of the validation images (438 s), residual
# ones of 16, 96, 192 and 256 had 77.9 % (346 s); these are plain, and narrower where an image's maps are large.
CNN_CIFAR10 = CNNConfig(widths=(24, 64, 192, 256), blocks=(0, 1, 1, 1), pooled=True)

_SMALL = (
    Preset(
        "vit_digits",
        "Small ViT for digits, 32 px, patch 4",
        VIT_DIGITS,
        GREY_32,
        "Reads grey 32 px digits as 8 x 8 patches.",
    ),
    Preset(
        "vit_shapes",
        "Small ViT for shapes, 32 px, patch 4",
        VIT_SHAPES,
        RGB_32,
        "Predicts where the warm object lies relative to the cool one, which needs position embeddings.",
    ),
    Preset(
        "vit_mnist",
        "Small ViT for MNIST, 28 px, patch 4",
        VIT_MNIST,
        GREY_28,
        "Reads grey 28 px digits as 7 x 7 patches.",
    ),
    Preset(
        "vit_cifar10",
        "ViT for CIFAR-10, 32 px, patch 4",
        VIT_CIFAR10,
        RGB_32,
        "Reads 32 px colour images as 8 x 8 patches.",
    ),
    Preset(
        "vit_cifar10_patch8",
        "ViT for CIFAR-10, 32 px, patch 8",
        replace(VIT_CIFAR10, patch_size=8),
        RGB_32,
        "Reads 32 px colour images as only 4 x 4 patches: cheaper, coarser.",
    ),
    Preset(
        "hybrid_cifar10",
        "Hybrid for CIFAR-10: convolutional stem and ViT",
        ViTConfig(embed_dim=128, depth=4, num_heads=4, mlp_ratio=2.0, stem=(32, 64, 128), readout="mean"),
        RGB_32,
        "A stem of three 3 x 3 convolutions gives the tokens for a ViT of 4 blocks.",
    ),
    Preset(
        "deit_cifar10",
        "DeiT for CIFAR-10, 32 px, patch 4",
        replace(VIT_CIFAR10, distilled=True),
        RGB_32,
        "The ViT with a distillation token and a second head.",
    ),
    Preset(
        "deit_digits",
        "Small DeiT for digits, 32 px, patch 4",
        replace(VIT_DIGITS, distilled=True),
        GREY_32,
        "The small ViT with a distillation token and a second head.",
    ),
    Preset(
        "swin_cifar10",
        "Swin for CIFAR-10, 32 px, patch 2, window 4",
        SwinConfig(embed_dim=48, depths=(2, 4), num_heads=(3, 6), mlp_ratio=2.0),
        RGB_32,
        "Two stages, 16 x 16 and 8 x 8 tokens, in windows of 4 x 4.",
    ),
    Preset(
        "swin_digits",
        "Small Swin for digits, 32 px, patch 2, window 4",
        SWIN_DIGITS,
        GREY_32,
        "Two stages, 16 x 16 and 8 x 8 tokens, in windows of 4 x 4.",
    ),
    Preset(
        "swin_shapes",
        "Small Swin for shapes, 32 px, patch 2, window 4",
        replace(SWIN_DIGITS, in_chans=3, num_classes=4),
        RGB_32,
        "Predicts where the warm object lies; windows with relative position bias.",
    ),
    Preset(
        "swin_mnist",
        "Small Swin for MNIST, 28 px, patch 2, window 7",
        replace(SWIN_DIGITS, image_size=28, window_size=7),
        GREY_28,
        "Two stages, 14 x 14 and 7 x 7 tokens, in windows of 7 x 7.",
    ),
    Preset(
        "cnn_cifar10",
        "Small CNN for CIFAR-10",
        CNN_CIFAR10,
        RGB_32,
        "The convolutional baseline, and DeiT's teacher.",
    ),
    Preset(
        "cnn_digits",
        "Small ResNet for digits",
        CNNConfig(in_chans=1, widths=(16, 32, 64)),
        GREY_32,
        "The convolutional baseline for digits, and a teacher for the small DeiT.",
    ),
    Preset(
        "cnn_shapes",
        "Small ResNet for shapes",
        CNNConfig(num_classes=4, widths=(16, 32, 64)),
        RGB_32,
        "The convolutional baseline for shapes.",
    ),
)


def _vit(patch: int, dim: int, depth: int, heads: int, distilled: bool = False) -> ViTConfig:
    return ViTConfig(
        image_size=224,
        patch_size=patch,
        num_classes=1000,
        embed_dim=dim,
        depth=depth,
        num_heads=heads,
        distilled=distilled,
    )


def _swin(dim: int, deep: int, first_heads: int) -> SwinConfig:
    return SwinConfig(
        image_size=224,
        patch_size=4,
        num_classes=1000,
        embed_dim=dim,
        depths=(2, 2, deep, 2),
        num_heads=tuple(first_heads * 2**stage for stage in range(4)),
        window_size=7,
    )


_SIZES: tuple[tuple[str, str, ModelConfig, str], ...] = (
    ("vit_tiny_16", "ViT-Ti/16, 224 px", _vit(16, 192, 12, 3), "14 x 14 patches, the smallest size."),
    ("vit_small_16", "ViT-S/16, 224 px", _vit(16, 384, 12, 6), "14 x 14 patches, 6 heads."),
    ("vit_base_16", "ViT-B/16, 224 px", _vit(16, 768, 12, 12), "The ViT paper's Base: 12 heads, 12 blocks."),
    ("vit_base_32", "ViT-B/32, 224 px", _vit(32, 768, 12, 12), "Base on 7 x 7 patches of 32 px."),
    (
        "vit_large_16",
        "ViT-L/16, 224 px",
        _vit(16, 1024, 24, 16),
        "The ViT paper's Large: 16 heads, 24 blocks.",
    ),
    ("vit_huge_14", "ViT-H/14, 224 px", _vit(14, 1280, 32, 16), "The ViT paper's Huge: 16 x 16 patches."),
    ("deit_tiny_16", "DeiT-Ti/16, 224 px", _vit(16, 192, 12, 3), "ViT-Ti/16 under DeiT's training."),
    ("deit_small_16", "DeiT-S/16, 224 px", _vit(16, 384, 12, 6), "ViT-S/16 under DeiT's training."),
    ("deit_base_16", "DeiT-B/16, 224 px", _vit(16, 768, 12, 12), "ViT-B/16 under DeiT's training."),
    (
        "deit_tiny_distilled_16",
        "Distilled DeiT-Ti/16, 224 px",
        _vit(16, 192, 12, 3, distilled=True),
        "With a distillation token and a second head.",
    ),
    (
        "deit_small_distilled_16",
        "Distilled DeiT-S/16, 224 px",
        _vit(16, 384, 12, 6, distilled=True),
        "With a distillation token and a second head.",
    ),
    (
        "deit_base_distilled_16",
        "Distilled DeiT-B/16, 224 px",
        _vit(16, 768, 12, 12, distilled=True),
        "With a distillation token and a second head.",
    ),
    ("swin_tiny", "Swin-T, 224 px", _swin(96, 6, 3), "Windows of 7 x 7 in four stages."),
    ("swin_small", "Swin-S, 224 px", _swin(96, 18, 3), "Swin-T with 18 blocks in the third stage."),
    ("swin_base", "Swin-B, 224 px", _swin(128, 18, 4), "Swin-S, a third wider."),
)
_PAPERS = tuple(Preset(name, title, config, IMAGENET_224, text) for name, title, config, text in _SIZES)

_A = ViTConfig(
    patch_size=8,
    embed_dim=64,
    depth=2,
    num_heads=2,
    mlp_ratio=2.0,
    norm="post",
    norm_eps=1e-5,
    positions="sincos_2d_sum",
    dropout=0.1,
    attention_dropout=0.1,
)
_B = ViTConfig(
    image_size=28, patch_size=4, in_chans=1, embed_dim=64, depth=2, num_heads=4, norm_eps=1e-5, dropout=0.1
)
_C = ViTConfig(
    image_size=28,
    patch_size=4,
    in_chans=1,
    embed_dim=8,
    depth=2,
    num_heads=2,
    output_projection=False,
    head_input="slice",
    final_norm=False,
    norm_eps=1e-5,
    positions="sincos_1d",
    sincos_on_prefix=True,
    softmax_output=True,
)
_D = ViTConfig(
    image_size=28,
    patch_size=7,
    in_chans=1,
    embed_dim=32,
    depth=3,
    num_heads=4,
    qkv_bias=False,
    attention_scale="width",
    norm_eps=1e-5,
    activation="relu",
    positions="pixels",
    readout="first_patch",
    dropout=0.2,
    attention_dropout=0.2,
    softmax_output=True,
)
_F = replace(_B, dropout=0.0)
_G = ConvAttentionConfig(scaled=False, transposed_values=True)


def _adam(dataset: str, epochs: float, batch: int, rate: float, **more: object) -> TrainConfig:
    values: dict[str, object] = {
        "dataset": dataset,
        "epochs": epochs,
        "batch_size": batch,
        "learning_rate": rate,
        "optimizer": "adam",
        "weight_decay": 0.0,
        "schedule": "constant",
    }
    return TrainConfig(**(values | more))  # type: ignore[arg-type]


_TRAIN_A = _adam("cifar10", 100, 128, 1e-3, frozen=("patch_embed",))
_TRAIN_C = _adam("mnist", 20, 128, 5e-3)
_TRAIN_D = _adam("mnist", 20, 64, 3e-4)
_TRAIN_MNIST = _adam("mnist", 10, 128, 1e-3)

_LECTURE = (
    Preset(
        "recipe_a",
        "Lecture A, as written: CIFAR-10, patch 8",
        _A,
        RGB_32,
        "Post-norm, 2-D sinusoidal positions; its patch embedding is outside the optimizer and stays random.",
        _TRAIN_A,
    ),
    Preset(
        "recipe_a_corrected",
        "Lecture A, corrected: CIFAR-10, patch 8",
        replace(_A, norm="pre"),
        RGB_32,
        "Pre-norm, with a trained patch embedding.",
        replace(_TRAIN_A, frozen=(), optimizer="adamw", weight_decay=0.05, schedule="warmup_cosine"),
    ),
    Preset(
        "recipe_b",
        "Lecture B: MNIST, patch 4",
        _B,
        GREY_28,
        "Two blocks of four heads on 7 x 7 patches; the lecture reports 98 %.",
        _adam("mnist", 10, 256, 1e-3, optimizer="adamw", weight_decay=0.01),
    ),
    Preset(
        "recipe_c",
        "Lecture C, as written: MNIST, width 8",
        _C,
        GREY_28,
        "Heads read slices of the token, no output projection, and a softmax before the loss.",
        _TRAIN_C,
    ),
    Preset(
        "recipe_c_corrected",
        "Lecture C, corrected: MNIST, width 8",
        replace(_C, head_input="all", output_projection=True, final_norm=True, softmax_output=False),
        GREY_28,
        "Heads read the whole token, with an output projection and logits in the loss.",
        _TRAIN_C,
    ),
    Preset(
        "recipe_d",
        "Lecture D, as written: MNIST, patch 7",
        _D,
        GREY_28_HALF,
        "A second map of the pixels as position embedding, the first patch as readout, softmax before the loss.",
        _TRAIN_D,
    ),
    Preset(
        "recipe_d_corrected",
        "Lecture D, corrected: MNIST, patch 7",
        replace(
            _D,
            positions="learned",
            readout="cls",
            attention_scale="head",
            qkv_bias=True,
            softmax_output=False,
        ),
        GREY_28_HALF,
        "Learned position embeddings, a [CLS] token, scale 1/sqrt(d_head), and logits in the loss.",
        _TRAIN_D,
    ),
    Preset(
        "recipe_e",
        "Lecture E: MNIST, 'attention' over the flat image",
        FlatAttentionConfig(),
        GREY_28,
        "A single token for the whole image, so attention is the constant 1 and the model is an MLP.",
        _adam("mnist", 10, 32, 1e-3),  # its log counts 1,875 steps an epoch
    ),
    Preset(
        "recipe_f_poor",
        "Lecture F: MNIST without position embeddings",
        replace(_F, positions="none"),
        GREY_28,
        "Ignores the order of patches. The lecture's 68 % is of a poor position table, not of none.",
        _TRAIN_MNIST,
    ),
    Preset(
        "recipe_f_good",
        "Lecture F: MNIST with 2-D position embeddings",
        replace(_F, positions="sincos_2d_concat"),
        GREY_28,
        "Row and column in separate halves of the table; the lecture reports 95 %.",
        _TRAIN_MNIST,
    ),
    Preset(
        "recipe_g",
        "Lecture G, as written: attention over convolutions",
        _G,
        GREY_28,
        "Queries, keys and values are convolutions; unscaled scores, and the value product transposed.",
        _TRAIN_MNIST,
    ),
    Preset(
        "recipe_g_corrected",
        "Lecture G, corrected: attention over convolutions",
        ConvAttentionConfig(),
        GREY_28,
        "Scores scaled by 1/sqrt(d), and every pixel averages the values that it attends to.",
        _TRAIN_MNIST,
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (*_SMALL, *_PAPERS, *_LECTURE)}
