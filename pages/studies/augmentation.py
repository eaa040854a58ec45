"""Draw augmented versions of a training image above the study of augmentation."""

import numpy as np

from pages.frame import page
from pages.stores import shared_cache
from pages.studies.study import Values
from vitviz.analysis.study_numbers import Numbers
from vitviz.config import TrainConfig
from vitviz.data.datasets import data_title, default_pictures
from vitviz.experiments import data_size

SHOWN = 7
_PX = 96


def draw_above(values: Values, numbers: Numbers) -> None:
    """Draw one prepared image and its augmented versions in a few updates."""
    import torch

    from vitviz.training.augmentation import augment
    from vitviz.training.batches import prepare_images

    dataset = values["dataset"]
    grid = data_size.GRIDS[dataset]
    name = default_pictures(dataset, grid.preparation.in_chans)
    source = shared_cache.load_dataset(name)
    # The samples 'a few' have no training images.
    images = source.train_images if len(source.train_images) else source.test_images
    original = prepare_images(images[:1], np.zeros(1, np.int64), slice(None), grid.preparation).images
    fill = torch.zeros(original.shape[1], dtype=torch.uint8)
    random = torch.Generator().manual_seed(0)
    augmented = augment(original.repeat(SHOWN, 1, 1, 1), grid.train, fill, random)
    shown = [image.permute(1, 2, 0).numpy() for image in (original[0], *augmented)]
    page.images(shown, ["original", *(f"version {i + 1}" for i in range(SHOWN))], "The image, ", _PX)
    missing = "" if name == dataset else f" (training images of {data_title(dataset)} are missing here)"
    page.caption(
        f"{SHOWN} of {count_versions(grid.train):,} augmented versions of an image from '{data_title(name)}'{missing}."
    )


def count_versions(train: TrainConfig) -> int:
    """Return the number of augmented versions of an image: shifts by -s..s px in both directions, flipped or not."""
    return (2 * train.shift_px + 1) ** 2 * (1 + train.flip)
