"""The map's two answers, the whole model on a picture and an opened part: computed, or stored for the first minute.

What the app opens with is stored beside the checkpoints, the map and each of its parts for the token that stands
pinned first: a server that has just started takes seconds to load torch, and nobody waits for it.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pages.selection.selection import Nouns
from pages.start import scene
from pages.stores import cached, catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.part_request import Asked
from vitviz.pin import Pin
from vitviz.plots.blob import opened, unpacked
from vitviz.plots.map import map_view
from vitviz.plots.map_contents import MOST_PAIRS
from vitviz.plots.map_part import part_view

if TYPE_CHECKING:
    from vitviz.analysis.journey import Journey
    from vitviz.models.loaded_model import LoadedModel

STORED = (
    "start_map.bin"  # beside the checkpoints, as the next; `python -m pages.start.stored_map` writes both
)
STORED_PARTS = "start_parts.bin"


def whole(choice: ModelChoice, now: Nouns) -> bytes:
    """The map of a model at a step on a picture, without what belongs to a visit."""
    seen = cached.prepared(now.image, choice.preparation, now.offset).shown
    stored = _stored(STORED, choice, now.step, seen)
    if stored is not None:
        return stored
    model = cached.loaded(choice, now.step)
    token = now.pin.token(model.layout(*seen.shape[:2]))
    large = _is_large(model, seen)
    return _whole(model.digest, model, choice, now.image, now.offset, token if large else 0)


def part(choice: ModelChoice, now: Nouns, asked: Asked) -> bytes | None:
    """What is inside a part, for a token, without what belongs to a visit; None where the model has no such part."""
    if asked == Asked(asked.part, Pin()):
        seen = cached.prepared(now.image, choice.preparation, now.offset).shown
        message = _stored(STORED_PARTS, choice, now.step, seen)
        stored = None if message is None else unpacked(message).get(asked.part)
        if stored is not None:
            return stored.tobytes()
    model = cached.loaded(choice, now.step)
    way = cached.journey(choice, now.step, now.image, now.offset)
    return _part(model.digest, model, way, now.image, now.offset, asked)


def message_of(model: LoadedModel, way: Journey, shown: NDArray[np.uint8], token: int = 0) -> bytes:
    """The map's message of a journey, without what belongs to a visit."""
    trained = model.trained_on is not None
    said = scene.scene(model.config, model.title, trained, model.step, model.classes, way.readout)
    return map_view(replace(said, token=token), shown, way)


def mark(model_digest: str, seen: NDArray[np.uint8]) -> str:
    """What a stored map is of: these weights and these pixels."""
    return f"{model_digest}|{blake2b(np.ascontiguousarray(seen).data, digest_size=16).hexdigest()}"


def _is_large(model: LoadedModel, seen: NDArray[np.uint8]) -> bool:
    """Whether a table of positions travels one row at a time."""
    return model.layout(*seen.shape[:2]).num_tokens ** 2 > MOST_PAIRS


def _stored(name: str, choice: ModelChoice, step: int, seen: NDArray[np.uint8]) -> bytes | None:
    """A stored message where it is of this model, at this step, and of this picture."""
    file = catalogue.CHECKPOINTS / name
    if choice.path is None or not file.is_file():
        return None
    found, said = _read(file, file.stat().st_mtime_ns)
    return found if said == mark(f"{catalogue.header(choice.path).digest}:{step}", seen) else None


@lru_cache(maxsize=2)
def _read(file: Path, modified_ns: int) -> tuple[bytes, str]:
    """The stored message and its mark; an unreadable file is none."""
    try:
        message = file.read_bytes()
        return message, str(opened(message)[0]["mark"])
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return b"", ""


@cached.per_picture(shared=24, upload=3)
def _whole(
    digest: str, _model: LoadedModel, _choice: ModelChoice, image: str, offset: cached.Offset, token: int
) -> bytes:
    way = cached.journey(_choice, _model.step, image, offset)
    prepared = cached.prepared(image, _model.preparation, offset)
    return message_of(_model, way, prepared.shown, token)


@cached.per_picture(shared=48, upload=6)
def _part(
    digest: str, _model: LoadedModel, _way: Journey, image: str, offset: cached.Offset, asked: Asked
) -> bytes | None:
    from vitviz.probe.map_part import open_part

    values = cached.prepared(image, _model.preparation, offset).input
    inside = open_part(_model, values, _way, asked)
    return None if inside is None else part_view(inside)
