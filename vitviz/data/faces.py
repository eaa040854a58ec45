"""`faces`: scikit-image's hundred faces and hundred backgrounds of 24 px, and the same faces put together otherwise.

The images are crops of Labeled Faces in the Wild (Huang et al. 2007), aligned, so that one set of rectangles holds
the parts of them all.
"""

from collections.abc import Callable

import numpy as np

from vitviz.analysis.image_changes import Uint8, shuffle
from vitviz.analysis.image_parts import LEAST_PX, ImagePart, PlacedParts, assemble, cut_part, misplace_parts
from vitviz.data.dataset import Dataset, DatasetError
from vitviz.data.samples import pictures_folder

FILE = "lfw_subset.npy"  # (200, 25, 25) in [0, 1], the faces first
SIDE_PX = 24  # the 25th row and column are left out: patches of 4 px tile the rest
EACH = 100
TEST = 30  # of each class: the last
CLASSES = ("background", "face")
PARTS = (
    cut_part(3, 6, 7, 4),
    cut_part(12, 6, 7, 4),
    cut_part(8, 11, 6, 5),
    cut_part(6, 16, 10, 4),
)  # eyes, nose, mouth of the mean face
ARRANGEMENTS: dict[str, Callable[[Uint8, int], Uint8]] = {
    "whole": lambda face, _: face,
    "wrong": lambda face, _: assemble(face, misplace_parts(PARTS, SIDE_PX)),
    "turned": lambda face, _: np.ascontiguousarray(face[::-1, ::-1]),
    "shuffled": lambda face, seed: shuffle(face, 1.0, seed),
}


def faces_dataset() -> Dataset:
    """140 images to learn from and 60 to test on, (N, 24, 24, 1), half of each faces.

    Raises:
        DatasetError: if scikit-image's file is not on this machine.
    """
    place = pictures_folder()
    if place is None or not (place / FILE).is_file():
        raise DatasetError(f"'faces' needs scikit-image's {FILE}: run `pip install -r requirements.txt`.")
    grey = np.rint(255 * np.load(place / FILE, allow_pickle=False)).astype(np.uint8)
    faces, backgrounds = (part[:, :SIDE_PX, :SIDE_PX, None] for part in (grey[:EACH], grey[EACH:]))
    split = EACH - TEST
    train, test = (np.concatenate([backgrounds[at], faces[at]]) for at in (slice(split), slice(split, None)))
    labels = [np.repeat(np.arange(2), count) for count in (split, TEST)]
    return Dataset("faces", train, labels[0], test, labels[1], CLASSES)


def arranged(faces: Uint8, arrangement: str) -> Uint8:
    """Faces (N, 24, 24, 1) put together as one of `ARRANGEMENTS`; each has its place as the seed of its shuffle."""
    put = ARRANGEMENTS[arrangement]
    return np.stack([put(np.repeat(face, 3, axis=2), seed)[..., :1] for seed, face in enumerate(faces)])


FaceBox = tuple[int, int, int, int]  # left, top, right, bottom, in px of the sample
# Neighbours in this order do not change places: `put_wrong` goes half of the list on.
FACES: dict[str, dict[str, FaceBox]] = {
    "cat": {
        "left eye": (132, 80, 216, 154),
        "right eye": (288, 104, 350, 170),
        "nose": (222, 216, 296, 272),
        "ear": (316, 0, 398, 74),
    }
}


def parts_of(sample: str, box: tuple[float, float, float, float], size: int) -> dict[str, ImagePart]:
    """Return the parts of a sample's face that a model sees, by name; none of a sample that has no face here.

    Args:
        sample: its key.
        box: (top, left, height, width) of what the model sees, in px of the sample.
        size: the side of what it sees, in the model's px.
    """
    top, left, height, width = box
    down, across = size / height, size / width
    parts = {}
    for name, (x0, y0, x1, y1) in FACES.get(sample, {}).items():
        columns = [max(0, min(size, round((x - left) * across))) for x in (x0, x1)]
        rows = [max(0, min(size, round((y - top) * down))) for y in (y0, y1)]
        sides = columns[1] - columns[0], rows[1] - rows[0]
        if min(sides) >= LEAST_PX:
            parts[name] = cut_part(columns[0], rows[0], *sides)
    return parts


def from_the_middle(size: int) -> PlacedParts:
    """Return four squares around the middle of an image: where nobody knows better."""
    side = size // 4
    near, far = size // 2 - side, size // 2
    return tuple(cut_part(left, top, side, side) for top in (near, far) for left in (near, far))
