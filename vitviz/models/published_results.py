"""List published accuracies and training costs with their sources."""

from __future__ import annotations

from dataclasses import dataclass

TIMM = "timm, results/results-imagenet.csv at 0173a13"
TORCHVISION = "torchvision, its weights' own figures"
VIT_PAPER = "Dosovitskiy et al. 2021, table 2"
DEIT_PAPER = "Touvron et al. 2021, table 5"
DEIT_REPOSITORY = "Touvron et al. 2021, their repository"
SWIN_REPOSITORY = "Liu et al. 2021, their repository"

# Images of a training set, in the papers' own figures.
TRAINING_IMAGES = {
    "ImageNet-1k": 1_281_167,
    "ImageNet-1k, without labels": 1_281_167,
    "ImageNet-21k, then ImageNet-1k": 14_000_000,
    "ImageNet-21k": 14_000_000,
    "LVD-142M, without labels, then saliency maps": 142_000_000,
    "LVD-142M, without labels": 142_000_000,
    "JFT-300M": 303_000_000,
}

# Top-1 accuracy on ImageNet-1k in percent, of the weights of `pretrained_list`, by name.
TOP1: dict[str, float] = {
    "vit_tiny_patch16_224.augreg_in21k_ft_in1k": 75.454,
    "vit_small_patch16_224.augreg_in21k_ft_in1k": 81.384,
    "vit_small_patch16_224.augreg_in1k": 78.846,
    "vit_small_patch32_224.augreg_in21k_ft_in1k": 75.994,
    "vit_base_patch8_224.augreg_in21k_ft_in1k": 85.798,
    "vit_base_patch16_224.augreg_in21k_ft_in1k": 84.532,
    "vit_base_patch16_224.augreg_in1k": 79.154,
    "vit_base_patch32_224.augreg_in21k_ft_in1k": 80.716,
    "vit_base_patch32_224.augreg_in1k": 74.894,
    "vit_large_patch16_224.augreg_in21k_ft_in1k": 85.834,
    "vit_tiny_patch16_384.augreg_in21k_ft_in1k": 78.424,
    "vit_small_patch16_384.augreg_in21k_ft_in1k": 83.802,
    "vit_small_patch16_384.augreg_in1k": 81.116,
    "vit_small_patch32_384.augreg_in21k_ft_in1k": 80.486,
    "vit_base_patch16_384.augreg_in21k_ft_in1k": 85.996,
    "vit_base_patch16_384.augreg_in1k": 81.102,
    "vit_base_patch32_384.augreg_in21k_ft_in1k": 83.350,
    "vit_base_patch32_384.augreg_in1k": 78.752,
    "vit_large_patch16_384.augreg_in21k_ft_in1k": 87.084,
    "deit_tiny_patch16_224.fb_in1k": 72.172,
    "deit_tiny_distilled_patch16_224.fb_in1k": 74.500,
    "deit_small_patch16_224.fb_in1k": 79.844,
    "deit_small_distilled_patch16_224.fb_in1k": 81.218,
    "deit_base_patch16_224.fb_in1k": 81.992,
    "deit_base_distilled_patch16_224.fb_in1k": 83.386,
    "deit_base_patch16_384.fb_in1k": 83.106,
    "deit_base_distilled_patch16_384.fb_in1k": 85.426,
    "swin_tiny_patch4_window7_224.ms_in1k": 81.376,
    "swin_tiny_patch4_window7_224.ms_in22k_ft_in1k": 80.968,
    "swin_small_patch4_window7_224.ms_in1k": 83.208,
    "swin_small_patch4_window7_224.ms_in22k_ft_in1k": 83.298,
    "swin_base_patch4_window7_224.ms_in1k": 83.606,
    "swin_base_patch4_window7_224.ms_in22k_ft_in1k": 85.272,
    "swin_base_patch4_window12_384.ms_in1k": 84.476,
    "swin_base_patch4_window12_384.ms_in22k_ft_in1k": 86.438,
    "vit_b_16": 81.072,
    "vit_b_32": 75.912,
    "vit_l_16": 79.662,
    "swin_t": 81.474,
    "swin_s": 83.196,
    "swin_b": 83.582,
}


def cite_accuracy(name: str) -> str:
    """Return the source of an accuracy of `TOP1`; only timm's names contain a patch size."""
    return TIMM if "_patch" in name else TORCHVISION


@dataclass(frozen=True)
class Size:
    """One row of the ViT paper's table 1; `preset` is the config in this project."""

    name: str
    layers: int
    width: int
    mlp: int
    heads: int
    millions: int
    preset: str


# ViT paper, table 1; Ti and S are DeiT's (Touvron et al. 2021, table 1).
SIZES = (
    Size("ViT-Ti/16", 12, 192, 768, 3, 5, "vit_tiny_16"),
    Size("ViT-S/16", 12, 384, 1536, 6, 22, "vit_small_16"),
    Size("ViT-B/16", 12, 768, 3072, 12, 86, "vit_base_16"),
    Size("ViT-L/16", 24, 1024, 4096, 16, 307, "vit_large_16"),
    Size("ViT-H/14", 32, 1280, 5120, 16, 632, "vit_huge_14"),
)


@dataclass(frozen=True)
class Transfer:
    """One column of the ViT paper's table 2: accuracy in percent by test set, and TPUv3-core-days of pre-training.

    preset: the shape here, fine-tuned at `side_px` (section 4.2); empty for a network that is none of ours.
    """

    name: str
    family: str
    data: str
    core_days: float
    accuracy: dict[str, float]
    preset: str = ""
    side_px: int = 0


TEST_SETS = ("ImageNet", "ImageNet ReaL", "CIFAR-10", "CIFAR-100", "Oxford-IIIT Pets", "Flowers-102", "VTAB")


def _transfer(name: str, family: str, data: str, core_days: float, *found: float, **more: object) -> Transfer:
    return Transfer(name, family, data, core_days, dict(zip(TEST_SETS, found, strict=False)), **more)  # type: ignore[arg-type]


# ViT paper, table 2: means of three fine-tuning runs.
TRANSFERS = (
    _transfer("ViT-H/14", "ViT", "JFT-300M", 2500, 88.55, 90.72, 99.50, 94.55, 97.56, 99.68, 77.63,
              preset="vit_huge_14", side_px=518),
    _transfer("ViT-L/16", "ViT", "JFT-300M", 680, 87.76, 90.54, 99.42, 93.90, 97.32, 99.74, 76.28,
              preset="vit_large_16", side_px=512),
    _transfer("ViT-L/16", "ViT", "ImageNet-21k", 230, 85.30, 88.62, 99.15, 93.25, 94.67, 99.61, 72.72,
              preset="vit_large_16", side_px=512),
    _transfer("BiT-L, ResNet-152 x 4", "CNN", "JFT-300M", 9900, 87.54, 90.54, 99.37, 93.51, 96.62, 99.63, 76.29),
    _transfer("Noisy Student, EfficientNet-L2", "CNN", "JFT-300M", 12300, 88.4, 90.55),
)  # fmt: skip


@dataclass(frozen=True)
class Published:
    """A model of the DeiT or the Swin paper: top-1 on ImageNet-1k in percent at 224 px, trained on ImageNet-1k."""

    name: str
    family: str
    preset: str
    top1: float
    source: str


PAPER_MODELS = (
    Published("DeiT-Ti", "DeiT", "deit_tiny_16", 72.2, DEIT_PAPER),
    Published("DeiT-S", "DeiT", "deit_small_16", 79.9, DEIT_REPOSITORY),
    Published("DeiT-B", "DeiT", "deit_base_16", 81.8, DEIT_PAPER),
    Published("DeiT-Ti, distilled", "DeiT", "deit_tiny_distilled_16", 74.5, DEIT_PAPER),
    Published("DeiT-S, distilled", "DeiT", "deit_small_distilled_16", 81.2, DEIT_PAPER),
    Published("DeiT-B, distilled", "DeiT", "deit_base_distilled_16", 83.4, DEIT_PAPER),
    Published("Swin-T", "Swin", "swin_tiny", 81.2, SWIN_REPOSITORY),
    Published("Swin-S", "Swin", "swin_small", 83.2, SWIN_REPOSITORY),
    Published("Swin-B", "Swin", "swin_base", 83.5, SWIN_REPOSITORY),
)
