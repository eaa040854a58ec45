"""A journey as the map's message: every part of the model as a small picture of this picture's own numbers."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitviz.analysis.journey import Classes, Journey, Part
from vitviz.plots.blob import opened, pack, sealed
from vitviz.plots.map_contents import CONTENTS, Arrays, Facts, Scene, class_facts
from vitviz.plots.map_equations import equations
from vitviz.plots.map_words import caption_of, notes_of, symbol_of, title_of, words_of
from vitviz.plots.photo import Photo, photo

EXACT_PX = 64  # up to this side the picture travels as it is
PHOTO_QUALITY = 85

Links = dict[str, dict[str, str]]  # part's id -> {slug, label, href}
KINDS = {
    "stem": "maps",
    "stage": "maps",
}  # what the first word of an id is drawn as, where it is not the word itself


@dataclass(frozen=True)
class Visit:
    """What the map says to one visitor.

    token and pin: the chosen token, as an index of the first sequence and as a link holds it. label: the picture in
    words. truth: its class as the model counts them, or -1. links: part's id -> {slug, label, href}. name: of the
    map, as the answer for an opened part calls it.
    """

    token: int
    pin: str
    label: str
    truth: int
    links: Links
    name: str = "home.map"


def map_view(scene: Scene, shown: NDArray[np.uint8], journey: Journey) -> bytes:
    """The whole model on one picture.

    Args:
        shown: (S, S, 3), the picture as the model reads it.
    """
    picture = _photo(shown)
    arrays: Arrays = {"photo": picture.array}
    parts = []
    for part in journey.parts:
        facts, found = CONTENTS[type(part.content)](part, journey, scene)
        arrays |= {f"{part.id}.{name}": array for name, array in found.items()}
        parts.append(_common(part, scene) | facts)
    classes = next((p.content for p in journey.parts if isinstance(p.content, Classes)), None)
    header: Facts = {
        "family": scene.family,
        "title": scene.title,
        "trained": scene.trained,
        "step": scene.step,
        "channels": journey.parts[0].shape_in[0],
        "prefix": list(journey.sequence.prefix),
        "grid": list(journey.sequence.grid),
        "patch_px": journey.sequence.cell_px,
        "readout": journey.readout,
        "dims": journey.dims,
        "parts": parts,
        "equations": equations(journey, scene.words),
        "caption": caption_of(journey, scene.words, scene.classes),
        "notes": notes_of(journey, scene.words),
        "classes": None,
        **picture.header,
    }
    if classes is not None:
        header["classes"], found = class_facts(classes, scene)
        arrays |= found
    return pack(header, **arrays)


def opens(part: Part) -> bool:
    """Whether a part can be opened to its own sums."""
    return part.id not in ("picture", "patches")


def for_visit(message: bytes, visit: Visit) -> bytes:
    """The message as one visitor gets it."""
    header, buffers = opened(message)
    for part in header["parts"]:
        part["link"] = visit.links.get(part["id"])
    if header["classes"]:
        index = header["classes"]["index"]
        header["classes"]["truth"] = index.index(visit.truth) if visit.truth in index else -1
    said = {"token": visit.token, "pin": visit.pin, "label": visit.label, "map": visit.name}
    return sealed(header | said, buffers)


def _photo(shown: NDArray[np.uint8]) -> Photo:
    """As the model reads it: exact where it is small, as JPEG where it is not."""
    if max(shown.shape[:2]) <= EXACT_PX:
        return photo(shown)
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(shown)).save(out, "JPEG", quality=PHOTO_QUALITY)
    return Photo(shown, "image/jpeg", out.getvalue())


def _common(part: Part, scene: Scene) -> Facts:
    first = part.id.partition(".")[0]
    tokens = part.tokens
    return {
        "id": part.id,
        "kind": KINDS.get(first, first),
        "title": title_of(part, scene.words),
        "symbol": symbol_of(part, scene.words),
        "words": words_of(part, scene.words, scene.classes),
        "shape_in": list(part.shape_in),
        "shape_out": list(part.shape_out),
        "shape_words": part.shape_words,
        "grid": None if tokens is None else list(tokens.grid),
        "prefix": [] if tokens is None else list(tokens.prefix),
        "cell_px": None if tokens is None else tokens.cell_px,
        "link": None,
        "opens": opens(part),
    }
