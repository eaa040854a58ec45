"""Pack a recorded forward pass into the map's message."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.forward_pass import ClassScores, Journey, Part
from vitviz.plots.blob import describe, open_blob, pack, seal
from vitviz.plots.map_contents import Arrays, Facts, MapModel, encode_classes, encode_content
from vitviz.plots.map_equations import build_equations
from vitviz.plots.map_words import (
    describe_journey,
    describe_part,
    format_symbol,
    format_title,
    write_caption,
)
from vitviz.plots.photo import encode_photo

EXACT_PX = 64  # images up to this side are sent losslessly
PHOTO_QUALITY = 85

Links = dict[str, dict[str, str]]  # part id -> {slug, label, href}
KINDS = {
    "stem": "maps",
    "stage": "maps",
}  # drawing of a part by the first word of its id, if they differ


@dataclass(frozen=True)
class MapSession:
    """Fields of the map's message that belong to one session.

    token and pin: the pinned token, as an index of the first sequence and as a permalink holds it. label: the image's
    title. truth: its class index, or -1. links: part id -> {slug, label, href}. name: the map's name on the page.
    drawing: strokes and frame of a drawn image. weights: address of the model for the browser's engine. moves: True if
    the map may move by itself. pinned: True if the user has pinned the token. masks: masked patches and zeroed heads
    in hexadecimal digits. subject: a mark of model, step and image. config: the model's, from which parts are opened.
    """

    token: int
    pin: str
    label: str
    truth: int
    links: Links
    name: str = "home.map"
    drawing: Facts | None = None
    weights: str = ""
    moves: bool = False
    pinned: bool = False
    masks: str = ""
    subject: str = ""
    config: Facts = field(default_factory=dict)


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
        **describe(model, "family", "title", "trained", "step"),
        "channels": journey.parts[0].shape_in[0],
        "prefix": list(journey.sequence.prefix),
        "grid": list(journey.sequence.grid),
        "patch_px": journey.sequence.cell_px,
        "readout": journey.readout,
        "dims": journey.dims,
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


def add_session(message: bytes, session: MapSession) -> bytes:
    """Return the message with the fields of one session."""
    header, buffers = open_blob(message)
    for part in header["parts"]:
        part["link"] = session.links.get(part["id"])
    if header["classes"]:
        index = header["classes"]["index"]
        header["classes"]["truth"] = index.index(session.truth) if session.truth in index else -1
    fields: Facts = {"token": session.token, "pin": session.pin, "label": session.label, "map": session.name}
    fields |= describe(session, "drawing", "weights", "moves", "pinned", "masks", "subject", "config")
    return seal(header | fields, buffers)


def _describe_part(part: Part, model: MapModel) -> Facts:
    first = part.id.partition(".")[0]
    tokens = part.tokens
    return {
        **describe(part, "id", "shape_in", "shape_out", "shape_words"),
        "kind": KINDS.get(first, first),
        "title": format_title(part, model.words),
        "symbol": format_symbol(part, model.words),
        "words": describe_part(part, model.words, model.classes),
        "caption": write_caption(part, model.words),
        "grid": None if tokens is None else list(tokens.grid),
        "prefix": [] if tokens is None else list(tokens.prefix),
        "link": None,
        "opens": is_openable(part),
    }
