"""Writes the map that the app opens with beside the checkpoints, so that the first paint needs no torch.

    python -m pages.start.stored

A test computes it anew and compares; whoever changes the message, the default model or its first picture runs this.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pages.start.answers import STORED, mark, message_of
from pages.stores import catalogue
from pages.stores.choice import ModelChoice
from vitviz.data.datasets import default_pictures, load_dataset
from vitviz.data.preparation import prepare
from vitviz.plots.blob import opened, sealed


def default_choice() -> ModelChoice:
    """The shipped model that the app opens with."""
    key = catalogue.default_model()
    return next(choice for choice in catalogue.shipped() if choice.key == key)


def first_message(choice: ModelChoice) -> bytes:
    """The map of a shipped model at its last step on the first picture of its set, with the mark of what it is of."""
    from vitviz.checkpoints import open_model
    from vitviz.probe.journey import journey

    assert choice.path is not None
    model = open_model(choice.path)
    pictures = load_dataset(default_pictures(choice.trained_on, choice.preparation.in_chans)).test_images
    picture = np.broadcast_to(pictures[0], (*pictures.shape[1:3], 3))
    prepared = prepare(picture, choice.preparation)
    header, buffers = opened(message_of(model, journey(model, prepared.input), prepared.shown))
    return sealed(header | {"mark": mark(model.digest, prepared.shown)}, buffers)


def main() -> None:
    """Writes the file."""
    path = Path(catalogue.CHECKPOINTS) / STORED
    path.write_bytes(first_message(default_choice()))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
