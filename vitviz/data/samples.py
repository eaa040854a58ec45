"""Load the images that scikit-image installs, as samples and as the dataset `photos`: crops without labels.

Of every photograph the middle square, then windows of two thirds, of half and of two fifths of its shorter side, evenly
spread over it: they overlap. The crops are ordered by size, and each size goes through the photographs in turn, so that
the first few of the set already show all of them.
"""

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitviz.data.dataset import Dataset, DatasetError, Images
from vitviz.data.image_decoding import ImageError, decode_image

SOURCES = ("cat", "astronaut", "coffee", "motorcycle", "rocket", "retina", "galaxies", "tissue")
CROP_PX = 224  # what most ImageNet models read; smaller models prepare it as they do any photograph
WINDOWS = ((1.0, 1), (2 / 3, 2), (1 / 2, 3), (2 / 5, 4))  # (share of the shorter side, windows a side)
COUNT = len(SOURCES) * sum(per_side**2 for _, per_side in WINDOWS)
SquareBox = tuple[int, int, int]  # left, top, side, in px of the photograph


@dataclass(frozen=True)
class Sample:
    """A sample image: its title, its file in scikit-image's package, its source and licence."""

    name: str
    title: str
    file: str
    source: str


NOTES = tomllib.loads(Path(__file__).with_name("sample_notes.toml").read_text("utf-8"))
_SAMPLES = tuple(Sample(name, *facts) for name, facts in NOTES["samples"].items())


def pictures_folder() -> Path | None:
    """Return where scikit-image keeps its images; None where it is not installed."""
    package = find_spec("skimage")  # finds it without importing it
    folders = package.submodule_search_locations if package else None
    return Path(folders[0]) / "data" if folders else None


@lru_cache(maxsize=1)
def samples() -> tuple[Sample, ...]:
    """Return the sample images whose files are on this machine, in the order to show them."""
    folder = pictures_folder()
    return tuple(sample for sample in _SAMPLES if folder is not None and (folder / sample.file).is_file())


def sample_names() -> tuple[str, ...]:
    """Return the keys of the sample images on this machine; each opens with `load_sample`."""
    return tuple(sample.name for sample in samples())


def sample(name: str) -> Sample:
    """Return the title and source of a sample image.

    Raises:
        ImageError: if there is no such sample here.
    """
    for candidate in samples():
        if candidate.name == name:
            return candidate
    raise ImageError(
        f"There is no sample image '{name}': choose one of {', '.join(sample_names()) or 'none'}."
    )


def load_sample(name: str) -> NDArray[np.uint8]:
    """Return a sample image, (H, W, 3) uint8.

    Raises:
        ImageError: if there is no such sample here.
    """
    folder = pictures_folder()
    file = sample(name).file
    if folder is None:
        raise ImageError("The sample images need scikit-image: run `pip install -r requirements.txt`.")
    return decode_image((folder / file).read_bytes())


def photos_dataset() -> Dataset:
    """Return the `photos` set: `COUNT` test images of 224 x 224 px, RGB; always the same.

    Raises:
        DatasetError: if scikit-image's photographs are not on this machine.
    """
    try:
        images = {name: load_sample(name) for name in SOURCES}
        titles = {name: sample(name).title for name in SOURCES}
    except ImageError as error:
        raise DatasetError(f"'photos' needs scikit-image's photographs: {error}") from error
    crops, names = [], []
    for share, per_side in WINDOWS:
        for place in range(per_side**2):
            for name in SOURCES:
                height, width = images[name].shape[:2]
                crops.append(_cut(images[name], window(height, width, share, per_side, place)))
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


def window(height: int, width: int, share: float, per_side: int, place: int) -> SquareBox:
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


def _cut(image: Images, box: SquareBox) -> Images:
    left, top, side = box
    cropped = Image.fromarray(image[top : top + side, left : left + side])
    return np.array(cropped.resize((CROP_PX, CROP_PX), Image.Resampling.BICUBIC))
