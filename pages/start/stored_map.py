"""Write the message of the app's first map beside the checkpoints, to be shown without torch.

    python -m pages.start.stored_map

Run it after changing a message, the default model or its first image; a test recomputes and compares the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pages.selection import default_model
from pages.start.map_messages import STORED, build_map, build_mark
from pages.stores import catalogue, shared_cache
from pages.stores.model_choice import ModelChoice
from vitviz.data.datasets import default_picture
from vitviz.data.image_preprocessing import Prepared, prepare
from vitviz.plots.blob import open_blob, seal

if TYPE_CHECKING:
    from vitviz.analysis.forward_pass import Journey
    from vitviz.models.loaded_model import LoadedModel


def get_default_choice() -> ModelChoice:
    key = default_model.get_default_model("home")
    return next(choice for choice in catalogue.list_checkpoints() if choice.key == key)


def build_first_map(choice: ModelChoice) -> bytes:
    """Build the map of a shipped model at its last step for the first image of its dataset, with its mark."""
    model, prepared, journey = _record_first(choice)
    header, buffers = open_blob(build_map(model, journey, prepared.shown))
    return seal(header | {"mark": build_mark(model.digest, prepared.shown)}, buffers)


def _record_first(choice: ModelChoice) -> tuple[LoadedModel, Prepared, Journey]:
    from vitviz.checkpoints import open_model
    from vitviz.probe.forward_pass import record_journey

    assert choice.path is not None
    model = open_model(choice.path)
    image = shared_cache.load_image(default_picture(choice.trained_on, choice.preparation.in_chans))
    prepared = prepare(image, choice.preparation)
    return model, prepared, record_journey(model, prepared.input)


def main() -> None:
    message = build_first_map(get_default_choice())
    path = Path(catalogue.CHECKPOINTS) / STORED
    path.write_bytes(message)
    print(f"{path}: {len(message):,} bytes")


if __name__ == "__main__":
    main()
