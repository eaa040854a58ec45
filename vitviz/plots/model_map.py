"""Pack a recorded forward pass into the map's message."""

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.forward_pass import ClassScores, Journey, Part
from vitviz.plots.blob import describe, pack
from vitviz.plots.map_contents import Arrays, Facts, MapModel, encode_classes, encode_content
from vitviz.plots.map_equations import build_equations
from vitviz.plots.map_words import (
    describe_journey,
    describe_part,
    format_title,
    write_caption,
)
from vitviz.plots.photo import encode_photo

EXACT_PX = 64  # images up to this side are sent losslessly
PHOTO_QUALITY = 85

KINDS = {
    "stem": "maps",
    "stage": "maps",
}  # drawing of a part by the first word of its id, if they differ


def pack_map(model: MapModel, shown: NDArray[np.uint8], journey: Journey) -> bytes:
    """Pack the forward pass of one image.

    Args:
        shown: (S, S, 3), the preprocessed image.
    """
    image = encode_photo(shown, EXACT_PX, quality=PHOTO_QUALITY)
    arrays: Arrays = {"photo": image.array}
    parts = []
    for part in journey.parts:
        facts, contents = encode_content(part.content, part, journey, model)
        arrays |= {f"{part.id}.{name}": array for name, array in contents.items()}
        parts.append(_describe_part(part, model) | facts)
    classes = next((p.content for p in journey.parts if isinstance(p.content, ClassScores)), None)
    header: Facts = {
        "family": model.family,
        "prefix": list(journey.sequence.prefix),
        "grid": list(journey.sequence.grid),
        "patch_px": journey.sequence.cell_px,
        **describe(journey, "readout", "heads", "depth"),
        "parts": parts,
        "equations": build_equations(journey, model.words),
        "caption": describe_journey(journey, model.words, model.classes),
        "classes": None,
        **image.header,
    }
    if classes is not None:
        header["classes"], scores = encode_classes(classes, model)
        arrays |= scores
    return pack(header, **arrays)


def is_openable(part: Part) -> bool:
    """Return True if a part can be opened to its computation."""
    return part.id not in ("picture", "patches")


def _describe_part(part: Part, model: MapModel) -> Facts:
    first = part.id.partition(".")[0]
    tokens = part.tokens
    return {
        **describe(part, "id", "shape_in", "shape_out"),
        "kind": KINDS.get(first, first),
        "title": format_title(part, model.words),
        "words": describe_part(part, model.words, model.classes),
        "caption": write_caption(part, model.words),
        "grid": None if tokens is None else list(tokens.grid),
        "prefix": [] if tokens is None else list(tokens.prefix),
        "link": None,
        "opens": is_openable(part),
    }
