"""Locate the parts of a sample's face, and choose rectangles for other images."""

from __future__ import annotations

from vitviz.analysis.assembly import LEAST_PX, Part, Parts, cut_part

Box = tuple[int, int, int, int]  # left, top, right, bottom, in px of the sample
# Neighbours in this order do not change places: `put_wrong` goes half of the list on.
FACES: dict[str, dict[str, Box]] = {
    "cat": {
        "left eye": (132, 80, 216, 154),
        "right eye": (288, 104, 350, 170),
        "nose": (222, 216, 296, 272),
        "ear": (316, 0, 398, 74),
    }
}


def parts_of(sample: str, box: tuple[float, float, float], size: int) -> dict[str, Part]:
    """Return the parts of a sample's face that a model sees, by name; none of a sample that has no face here.

    Args:
        box: (top, left, side) of what the model sees, in px of the sample.
        size: the side of what it sees, in the model's px.
    """
    top, left, side = box
    scale = size / side
    found = {}
    for name, (x0, y0, x1, y1) in FACES.get(sample, {}).items():
        across = [max(0, min(size, round((x - left) * scale))) for x in (x0, x1)]
        down = [max(0, min(size, round((y - top) * scale))) for y in (y0, y1)]
        width, height = across[1] - across[0], down[1] - down[0]
        if min(width, height) >= LEAST_PX:
            found[name] = cut_part(across[0], down[0], width, height)
    return found


def from_the_middle(size: int) -> Parts:
    """Return four squares around the middle of an image: where nobody knows better."""
    side = size // 4
    near, far = size // 2 - side, size // 2
    return tuple(cut_part(left, top, side, side) for top in (near, far) for left in (near, far))
