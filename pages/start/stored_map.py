"""Writes the map that the app opens with, and what its parts hold, beside the checkpoints: neither then needs torch.

    python -m pages.start.stored_map

A test computes both anew and compares; whoever changes a message, the default model or its first picture runs this.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pages.start.map_answers import STORED, STORED_PARTS, mark, message_of
from pages.stores import catalogue
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.part_request import Asked
from vitviz.data.datasets import default_pictures, first_number, load_dataset
from vitviz.data.preparation import Prepared, prepare
from vitviz.pin import Pin
from vitviz.plots.blob import opened, pack, sealed
from vitviz.plots.map_part import part_view

if TYPE_CHECKING:
    from vitviz.analysis.journey import Journey
    from vitviz.models.loaded_model import LoadedModel


def default_choice() -> ModelChoice:
    """The shipped model that the app opens with."""
    key = catalogue.default_model()
    return next(choice for choice in catalogue.shipped() if choice.key == key)


def first_message(choice: ModelChoice) -> bytes:
    """The map of a shipped model at its last step on the first picture of its set, with the mark of what it is of."""
    model, prepared, way = _first(choice)
    header, buffers = opened(message_of(model, way, prepared.shown))
    return sealed(header | {"mark": mark(model.digest, prepared.shown)}, buffers)


def first_parts(choice: ModelChoice) -> bytes:
    """The messages of all parts of that map that open, by id, for the token that stands pinned first; marked alike."""
    from vitviz.probe.map_part import open_part

    model, prepared, way = _first(choice)
    inside = (open_part(model, prepared.input, way, Asked(part.id, Pin())) for part in way.parts)
    messages = {one.part: np.frombuffer(part_view(one), np.uint8) for one in inside if one is not None}
    return pack({"mark": mark(model.digest, prepared.shown)}, **messages)


def _first(choice: ModelChoice) -> tuple[LoadedModel, Prepared, Journey]:
    from vitviz.checkpoints import open_model
    from vitviz.probe.journey import journey

    assert choice.path is not None
    model = open_model(choice.path)
    name = default_pictures(choice.trained_on, choice.preparation.in_chans)
    pictures = load_dataset(name).test_images
    picture = np.broadcast_to(pictures[first_number(name)], (*pictures.shape[1:3], 3))
    prepared = prepare(picture, choice.preparation)
    return model, prepared, journey(model, prepared.input)


def main() -> None:
    """Writes the files."""
    choice = default_choice()
    for name, message in ((STORED, first_message(choice)), (STORED_PARTS, first_parts(choice))):
        path = Path(catalogue.CHECKPOINTS) / name
        path.write_bytes(message)
        print(f"{path}: {len(message):,} bytes")


if __name__ == "__main__":
    main()
