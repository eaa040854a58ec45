"""Train CNN, hybrid, Swin, ViT and DeiT on growing numbers of the same images, at equal updates."""

from dataclasses import dataclass, replace
from typing import Any

from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, TrainConfig, ViTConfig
from vitviz.models.presets import GREY_28, GREY_32, RGB_32
from vitviz.training.run_config import Member, RunConfig

TITLES = {"cnn": "CNN", "hybrid": "Hybrid", "swin": "Swin", "vit": "ViT", "deit": "DeiT"}
RACERS = ("cnn", "hybrid", "swin", "vit")  # what races live: the DeiT would wait for its teacher
SEEDS, MORE_SEEDS = tuple(range(3)), {"digits": tuple(range(5))}  # more with augmented images
PRESET = "data_race"  # the race's name in a RunConfig


# Up to here a size has as many images of every class: the first of the shuffled order, out of which equally many of
# each were held out for validation, are no fair draw (MNIST's first 50 lacked four digits).
EVEN_UP_TO = 1_000


@dataclass(frozen=True)
class StudyGrid:
    """The five models, recipes and training sizes of one dataset.

    Attributes:
        sizes: numbers of training images; the last is all that validation leaves.
        updates: of the weights, for every model and size; with early stopping, the most that a training makes.
        held_out: validation images, the same for every size.
    """

    models: dict[str, ModelConfig]
    preparation: Preparation
    train: TrainConfig
    sizes: tuple[int, ...]
    updates: int
    held_out: int

    def trained_on(self, images: int, seed: int = 0, augmented: bool = True) -> TrainConfig:
        """Return the recipe of one cell; a batch never contains an image twice."""
        batch = min(self.train.batch_size, images)
        plain: dict[str, Any] = {} if augmented else {"flip": False, "shift_px": 0}
        share: dict[str, Any] = (
            {"a_class": images // next(iter(self.models.values())).num_classes}
            if images <= EVEN_UP_TO
            else {"train_fraction": images / self.sizes[-1]}
        )
        return replace(
            self.train,
            batch_size=batch,
            epochs=self.updates * batch / images,
            seed=seed,
            **share,
            **plain,
        )

    def size_of(self, train: TrainConfig) -> int | None:
        """Return the number of images of this recipe; None if it is not in the grid."""
        like = train.seed, bool(train.shift_px)
        return next((size for size in self.sizes if train == self.trained_on(size, *like)), None)


_RECIPE = TrainConfig(
    dataset="digits", epochs=1, batch_size=64, learning_rate=2e-3, weight_decay=0.05, label_smoothing=0.1
)
_VIT = ViTConfig(embed_dim=64, depth=3, num_heads=4, mlp_ratio=2.0)
_HYBRID = ViTConfig(embed_dim=64, depth=2, num_heads=4, mlp_ratio=2.0, stem=(16, 32, 64), readout="mean")
_SWIN = SwinConfig(patch_size=4, window_size=4, embed_dim=48, depths=(2, 2), num_heads=(3, 6), mlp_ratio=2.0)
_CNN = CNNConfig(widths=(16, 32, 64, 96), blocks=(0, 1, 1, 1), pooled=True)


def _grey(image_size: int, patch_size: int) -> dict[str, ModelConfig]:
    inputs: dict[str, Any] = {"image_size": image_size, "in_chans": 1}
    vit = replace(_VIT, patch_size=patch_size, **inputs)
    return {
        "cnn": replace(_CNN, widths=(8, 16, 32, 64), **inputs),
        "hybrid": replace(_HYBRID, patch_size=8 if image_size == 32 else 4, stem=(8, 16, 64), **inputs),
        "swin": replace(_SWIN, embed_dim=32, num_heads=(2, 4), window_size=image_size // 8, **inputs),
        "vit": vit,
        "deit": replace(vit, distilled=True),
    }


GRIDS: dict[str, StudyGrid] = {
    "digits": StudyGrid(
        _grey(32, 8), GREY_32, replace(_RECIPE, shift_px=3), (50, 100, 200, 400, 800, 1295), 400, 143
    ),
    "cifar10": StudyGrid(
        {"cnn": _CNN, "hybrid": _HYBRID, "swin": _SWIN, "vit": _VIT, "deit": replace(_VIT, distilled=True)},
        RGB_32,
        replace(_RECIPE, dataset="cifar10", validation_fraction=0.04, flip=True, shift_px=4),
        (250, 1_000, 4_000, 16_000, 48_000),
        2_000,
        2_000,
    ),
    "mnist": StudyGrid(
        _grey(28, 7),
        GREY_28,
        replace(_RECIPE, dataset="mnist", validation_fraction=0.04, shift_px=2),
        (50, 250, 1_000, 4_000, 16_000, 57_599),
        600,
        2_401,
    ),
}

# Train every size until validation accuracy stops improving, with three models of 108,338 to 109,332 parameters.
# The learning rate stays constant and the weights are averaged: a schedule would tie each result to a number of
# updates that early stopping does not know.
EARLY_STOPPING = replace(
    GRIDS["cifar10"],
    models={
        "cnn": replace(_CNN, widths=(16, 32, 48, 60)),
        "vit": _VIT,
        "hybrid": replace(_HYBRID, stem=(24, 40, 64)),
    },
    train=replace(GRIDS["cifar10"].train, schedule="constant", ema_decay=0.999, clock="core"),
    updates=12_000,
)
# The same early stopping with larger patches; patches of 4 px are the ViT of `EARLY_STOPPING`.
PATCH_SIZES = replace(EARLY_STOPPING, models={"patch_8": replace(_VIT, patch_size=8)})


def race(dataset: str, images: int, seed: int = 0, augmented: bool = True) -> RunConfig:
    """Return one size of a grid as a run that trains its models in turn.

    Raises:
        ValueError: if the grid has no such set or size.
    """
    if dataset not in GRIDS or images not in GRIDS[dataset].sizes:
        raise ValueError(f"there is no grid of {dataset!r} with {images} images")
    grid = GRIDS[dataset]
    members = tuple(Member(name, TITLES[name], grid.models[name]) for name in RACERS)
    train = grid.trained_on(images, seed, augmented)
    name = f"How much data? {images:,} images"
    return RunConfig(members[0].model, grid.preparation, train, name, PRESET, members=members)
