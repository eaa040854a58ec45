"""`photos`: crops of the colour photographs that scikit-image installs, without labels and without a network.

Of every photograph the middle square, then windows of two thirds, of half and of two fifths of its shorter side, evenly
spread over it: they overlap. The crops are ordered by size, and each size goes through the photographs in turn, so that
the first few of the set already show all of them.
"""

import numpy as np
from PIL import Image

from vitviz.data.dataset import Dataset, DatasetError, Images
from vitviz.data.image_decoding import ImageError
from vitviz.data.samples import load_sample, sample

SOURCES = ("cat", "astronaut", "coffee", "motorcycle", "rocket", "retina", "galaxies", "tissue")
CROP_PX = 224  # what most ImageNet models read; smaller models prepare it as they do any photograph
WINDOWS = ((1.0, 1), (2 / 3, 2), (1 / 2, 3), (2 / 5, 4))  # (share of the shorter side, windows a side)
COUNT = len(SOURCES) * sum(per_side**2 for _, per_side in WINDOWS)

Box = tuple[int, int, int]  # left, top, side, in px of the photograph


def photos_dataset() -> Dataset:
    """Return the `photos` set: `COUNT` test images of 224 x 224 px, RGB; always the same.

    Raises:
        DatasetError: if scikit-image's photographs are not on this machine.
    """
    try:
        pictures = {name: load_sample(name) for name in SOURCES}
        titles = {name: sample(name).title for name in SOURCES}
    except ImageError as error:
        raise DatasetError(f"'photos' needs scikit-image's photographs: {error}") from error
    crops, names = [], []
    for share, per_side in WINDOWS:
        for place in range(per_side**2):
            for name in SOURCES:
                height, width = pictures[name].shape[:2]
                crops.append(_cut(pictures[name], window(height, width, share, per_side, place)))
                names.append(titles[name])
    nothing = np.empty((0, CROP_PX, CROP_PX, 3), np.uint8)
    return Dataset(
        name="photos",
        train_images=nothing,
        train_labels=None,
        test_images=np.stack(crops),
        test_labels=None,
        classes=(),
        test_names=tuple(names),
    )


def window(height: int, width: int, share: float, per_side: int, place: int) -> Box:
    """Return the `place`-th of per_side x per_side windows, in reading order; a single one lies in the middle.

    Args:
        height, width: of the photograph, in px.
        share: the window's side over the photograph's shorter side.
        per_side: windows along each of its sides, evenly spread from edge to edge.
        place: 0 to per_side^2 - 1.
    """
    side = round(share * min(height, width))
    row, col = divmod(place, per_side)
    along = (lambda index, room: round(room * index / (per_side - 1))) if per_side > 1 else _middle
    return along(col, width - side), along(row, height - side), side


def _middle(_: int, room: int) -> int:
    return room // 2


def _cut(picture: Images, box: Box) -> Images:
    left, top, side = box
    cropped = Image.fromarray(picture[top : top + side, left : left + side])
    return np.array(cropped.resize((CROP_PX, CROP_PX), Image.Resampling.BICUBIC))
