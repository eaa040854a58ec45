"""Pack the attention explorer together with its model, which the browser runs on other images (explorer_live.js)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.config import CNNConfig, ModelConfig, Preparation, SwinConfig, ViTConfig, to_dict
from vitviz.models.model_cost import multiply_adds, parameters
from vitviz.plots.blob import name_files, open_blob, pack, read_files, unpack_arrays

MOST_PARAMETERS, MOST_MULTIPLY_ADDS = (
    3_000_000,
    150_000_000,
)  # the engine's own limits; limits.js also checks options
FILES = tuple(
    f"vitviz/browser/{name}"
    for name in ("explorer_live.js", "explorer_live.css", "explorer_layers.css", "explorer.css")
)


@lru_cache(maxsize=64)
def runs_in_browser(config: ModelConfig) -> bool:
    """Return True if the engine may run a model; what limits.js refuses beyond this keeps its stored picture."""
    known = isinstance(config, ViTConfig | SwinConfig | CNNConfig)
    square = len(set(config.image_shape)) == 1
    if not known or not square or sum(parameters(config).values()) > MOST_PARAMETERS:
        return False
    if isinstance(config, SwinConfig):  # padded windows have no closed form; limits.js counts them
        return True
    return sum(multiply_adds(config, config.image_size).values()) <= MOST_MULTIPLY_ADDS


@dataclass(frozen=True, eq=False)
class LiveModel:
    """A model that a page runs.

    Attributes:
        checkpoints: by step, each with one step.
        step: the one that is shown first.
        layers: names of the blocks in records.
        pixels: (C, S, S), the stored image as the model takes it.
        probabilities: (classes), of the stored image.
    """

    config: ModelConfig
    preparation: Preparation
    classes: tuple[str, ...]
    checkpoints: Mapping[int, bytes]
    step: int
    layers: Sequence[str]
    pixels: NDArray[np.float32]
    probabilities: NDArray[np.float32]


def name_script(raw: bytes) -> str:
    """Return the address of a checkpoint as a script beside a page: a hash of its content."""
    return f"weights/{blake2b(raw, digest_size=8).hexdigest()}.js"


def live_explorer_view(stored: bytes, model: LiveModel, *, embedded: bool = True) -> bytes:
    """Return the explorer of all layers with its model; it names its own files.

    Args:
        stored: of `explorer_layers_view`: what is shown before the model has run, and where it cannot.
        embedded: False if the checkpoints lie beside the page as scripts.
    """
    files = name_files(read_files(stored))
    header, _ = open_blob(stored[len(files) :])
    arrays = dict(unpack_arrays(stored[len(files) :]))
    steps = sorted(model.checkpoints)
    addresses = [name_script(model.checkpoints[step]) for step in steps]
    if embedded:
        arrays |= {
            address: np.frombuffer(model.checkpoints[step], np.uint8)
            for address, step in zip(addresses, steps, strict=True)
        }
    live: dict[str, Any] = {
        "steps": steps,
        "at": steps.index(model.step),
        "weights": addresses,
        "records": [f"{name}.attn" for name in model.layers],
        "heads_over_all": isinstance(model.config, ViTConfig),
        "preparation": to_dict(model.preparation),
        "classes": list(model.classes),
    }
    header.pop("arrays")
    return name_files(FILES) + pack(
        header | {"live": live}, **arrays, pixels=model.pixels, probabilities=model.probabilities
    )
