"""Compute the map's two messages, the model's forward pass and an opened part, or load them from stored files.

The messages of the first view are stored beside the checkpoints, so that a new server shows them before torch is
loaded.
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

from pages.selection.selection import Selection
from pages.start import lens_links
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.opened_part import PartRequest
from vitviz.pin import Pin
from vitviz.plots.blob import open_blob, unpack_arrays
from vitviz.plots.map_contents import MOST_PAIRS
from vitviz.plots.model_map import pack_map, pack_part
from vitviz.weight_identity import resolve_identity

if TYPE_CHECKING:
    from vitviz.analysis.forward_pass import Journey
    from vitviz.models.loaded_model import LoadedModel

STORED = "start_map.bin"  # beside the checkpoints; `python -m pages.start.stored_map` writes both files
STORED_PARTS = "start_parts.bin"
READOUT = Pin(
    None, "cls"
)  # a part opens on this token until the user pins one; models without it take the centre


def load_map(choice: ModelChoice, current: Selection) -> bytes:
    """Return the map's message for a model and an image, without the fields of a session."""
    shown = shared_cache.prepare_image(current.image, choice.preparation, current.offset).shown
    stored = _load_stored(STORED, choice, current.step, shown)
    if stored is not None:
        return stored
    model = shared_cache.load_model(choice, current.step)
    layout = model.layout(*shown.shape[:2])
    # A position table that is too large to be sent at once is sent for one token.
    token = current.pin.token(layout) if layout.num_tokens**2 > MOST_PAIRS else 0
    return _compute_map(model, choice, current.image, current.offset, token)


def load_part(choice: ModelChoice, current: Selection, request: PartRequest) -> bytes | None:
    """Return the message of an opened part, without the fields of a session; None if the model lacks the part."""
    if request == PartRequest(request.part, READOUT):
        shown = shared_cache.prepare_image(current.image, choice.preparation, current.offset).shown
        message = _load_stored(STORED_PARTS, choice, current.step, shown)
        stored = None if message is None else unpack_arrays(message).get(request.part)
        if stored is not None:
            return stored.tobytes()
    model = shared_cache.load_model(choice, current.step)
    journey = shared_cache.record_journey(choice, current.step, current.image, current.offset)
    return _compute_part(model, journey, current.image, current.offset, request)


def build_map(model: LoadedModel, journey: Journey, shown: NDArray[np.uint8], token: int = 0) -> bytes:
    """Pack the map's message of a recorded forward pass, without the fields of a session."""
    trained = model.trained_on is not None
    description = lens_links.build_map_model(
        model.config, model.title, trained, model.step, model.classes, journey.readout
    )
    return pack_map(replace(description, token=token), shown, journey)


def build_mark(identity: str, shown: NDArray[np.uint8]) -> str:
    """Return the mark of a stored map: a hash of its weights and its pixels."""
    return f"{identity}|{blake2b(np.ascontiguousarray(shown).data, digest_size=16).hexdigest()}"


def _load_stored(name: str, choice: ModelChoice, step: int, shown: NDArray[np.uint8]) -> bytes | None:
    file = catalogue.CHECKPOINTS / name
    if choice.path is None or not file.is_file():
        return None
    message, mark = _read_stored(file, file.stat().st_mtime_ns)
    identity = catalogue.read_header(choice.path).identities.get(step, "")
    return message if mark == build_mark(identity, shown) else None


@lru_cache(maxsize=2)
def _read_stored(file: Path, modified_ns: int) -> tuple[bytes, str]:
    """Return a stored message and its mark; empty if the file is unreadable."""
    try:
        message = file.read_bytes()
        identity, _, pixels = str(open_blob(message)[0]["mark"]).partition("|")
        return message, f"{resolve_identity(identity)}|{pixels}"
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return b"", ""


@shared_cache.per_image(shared=24, upload=3)
def _compute_map(
    model: LoadedModel, _choice: ModelChoice, image: str, offset: shared_cache.Offset, token: int
) -> bytes:
    journey = shared_cache.record_journey(_choice, model.step, image, offset)
    prepared = shared_cache.prepare_image(image, model.preparation, offset)
    return build_map(model, journey, prepared.shown, token)


@shared_cache.per_image(shared=48, upload=6)
def _compute_part(
    model: LoadedModel,
    _journey: Journey,
    image: str,
    offset: shared_cache.Offset,
    request: PartRequest,
) -> bytes | None:
    from vitviz.probe.map_part import open_part

    values = shared_cache.prepare_image(image, model.preparation, offset).input
    part = open_part(model, values, _journey, request)
    return None if part is None else pack_part(part)
