"""Pack an image in parts, and the models' predictions, for the browser."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitviz.analysis.image_parts import LEAST_PX, MOST, SIGNS, Part
from vitviz.plots.blob import pack
from vitviz.plots.image_changes import Answered, describe_models, pack_answers
from vitviz.plots.photo import Photo, encode_photo

Uint8 = NDArray[np.uint8]
WHOLE, NOW, EMPTY = range(3)  # of `Apart.frames`


@dataclass(frozen=True)
class AssemblyHeader:
    """The header of the view's message.

    watched: the class whose probability is drawn. truth: the image's class, -1 where nobody says. mark: of this
    beginning; what the browser says later counts of it alone. seen: whether what the models read is drawn.
    """

    watched: int
    truth: int
    mark: int
    seen: bool


@dataclass(frozen=True, eq=False)
class ImageParts:
    """An image in parts.

    frames: (3, S, S, 3): whole, as it is put together, and without its parts. parts: where each is cut and lies.
    named: parts that have a name, where they are cut.
    """

    frames: Uint8
    parts: tuple[Part, ...]
    named: Mapping[str, Part]
    told: AssemblyHeader


def payload(apart: ImageParts, answered: Sequence[Answered], ground: Photo, classes: Sequence[str]) -> bytes:
    """Pack the image and every model's predictions, original and rearranged, for `parts_view`.

    Args:
        answered: each model's probabilities (2, classes) and views (2, rows, cols).
    """
    both = stack_payloads(ground.pixels, apart.frames[EMPTY], apart.parts)
    header: dict[str, Any] = {
        "parts": [astuple(part) for part in apart.parts],
        "named": {name: astuple(part)[:4] for name, part in apart.named.items()},
        "signs": SIGNS,
        "most": MOST,
        "least": LEAST_PX,
        "neutral": WHOLE,
        "classes": list(classes),
        "models": describe_models(answered),
        "photograph": ground.pixels.shape[0] > apart.frames.shape[1],
    }
    header |= vars(apart.told) | both.header
    return pack(header, frames=apart.frames, photo=both.array, **pack_answers(answered))


def stack_payloads(ground: Uint8, empty: Uint8, parts: Sequence[Part]) -> Photo:
    """Return the photograph, and below it the photograph with the holes filled.

    Args:
        ground: (P, P, 3), whole.
        empty: (S, S, 3), without its parts.
    """
    side, size = ground.shape[0], empty.shape[0]
    smooth = np.asarray(Image.fromarray(empty).resize((side, side), Image.Resampling.BICUBIC))
    below = ground.copy()
    for part in parts:
        across, down = (
            slice(round(at * side / size), round((at + wide) * side / size))
            for at, wide in ((part.left, part.width), (part.top, part.height))
        )
        below[down, across] = smooth[down, across]
    return encode_photo(np.concatenate([ground, below]))
