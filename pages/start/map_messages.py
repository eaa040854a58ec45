"""Compute the map's message and the records that a view requests for an opened part.

The message of the first view is stored beside the checkpoints, so that a new server shows it before torch is loaded.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pages.selection.selection import Selection
from pages.start import lens_links
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.plots.blob import open_blob
from vitviz.plots.map_contents import MOST_PAIRS
from vitviz.plots.model_map import pack_map
from vitviz.weight_identity import resolve_identity

if TYPE_CHECKING:
    from vitviz.analysis.forward_pass import Journey
    from vitviz.models.loaded_model import LoadedModel

STORED = "start_map.bin"  # beside the checkpoints; `python -m pages.start.stored_map` writes it


def load_map(choice: ModelChoice, current: Selection) -> bytes:
    """Return the map's message for a model and an image, without the fields of a session."""
    shown = shared_cache.prepare_image(current.image, choice.preparation, current.offset).shown
    stored = _load_stored(choice, current.step, shown)
    if stored is not None:
        return stored
    model = shared_cache.load_model(choice, current.step)
    layout = model.layout(*shown.shape[:2])
    # A position table that is too large to be sent at once is sent for one token.
    token = current.pin.token(layout) if layout.num_tokens**2 > MOST_PAIRS else 0
    return _compute_map(model, choice, current.image, current.offset, token)


def load_records(
    choice: ModelChoice, current: Selection, names: tuple[str, ...]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the named records as arrays '0', '1' …, and the fields of their message: names, classes, error."""
    model = shared_cache.load_model(choice, current.step)
    try:
        records = _compute_records(model, current.image, current.offset, names)
    except ValueError as error:
        return {}, {"names": names, "error": str(error)}
    return {str(i): records[name] for i, name in enumerate(names)}, {"names": names, "classes": model.classes}


def build_map(model: LoadedModel, journey: Journey, shown: NDArray[np.uint8], token: int = 0) -> bytes:
    """Pack the map's message of a recorded forward pass, without the fields of a session."""
    description = lens_links.build_map_model(model.config, model.classes, journey.readout)
    return pack_map(replace(description, token=token), shown, journey)


def build_mark(identity: str, shown: NDArray[np.uint8]) -> str:
    """Return the mark of a stored map: a hash of its weights and its pixels."""
    return f"{identity}|{blake2b(np.ascontiguousarray(shown).data, digest_size=16).hexdigest()}"


def _load_stored(choice: ModelChoice, step: int, shown: NDArray[np.uint8]) -> bytes | None:
    file = catalogue.CHECKPOINTS / STORED
    if choice.path is None or not file.is_file():
        return None
    message, mark = _read_stored(file, file.stat().st_mtime_ns)
    identity = catalogue.read_header(choice.path).identities.get(step, "")
    return message if mark == build_mark(identity, shown) else None


@lru_cache(maxsize=1)
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
def _compute_records(
    model: LoadedModel, image: str, offset: shared_cache.Offset, names: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    from vitviz.probe.named_records import read_records

    return read_records(model, shared_cache.prepare_image(image, model.preparation, offset).input, names)
