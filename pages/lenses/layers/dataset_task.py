"""Select the test images of a dataset, and measure models over them in the background."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pages.controls import task_progress, widgets
from pages.selection.subject import Subject
from pages.stores import shared_cache, tasks
from pages.stores.tasks import Work
from vitviz.analysis import sinks
from vitviz.analysis.sinks import TokenNorms
from vitviz.data.dataset import Dataset
from vitviz.data.datasets import default_pictures, find_note, picture_sets
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.layers import LayerOutput, stream_layer_outputs

R = TypeVar("R")
T = TypeVar("T")
BATCH = 32  # images
COUNTS = (32, 64, 128, 256, 512, 1000)
LARGE_TOKENS = 150  # a model with more tokens takes long for each image
FEW = 32  # images for such a model


@dataclass(frozen=True)
class ImageSubset:
    """The first test images of a dataset."""

    source: str
    count: int

    def __str__(self) -> str:
        """Return the name used in a question's key: 'digits.256'."""
        return f"{self.source}.{self.count}"

    @property
    def title(self) -> str:
        """'256 test images of Digits'."""
        return f"{self.count:,} test images of {find_note(self.source).title}"

    @property
    def dataset(self) -> Dataset:
        return shared_cache.load_dataset(self.source)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """(count, H, W, 1 or 3)."""
        return self.dataset.test_images[: self.count]

    def prepare_images(self, model: LoadedModel) -> NDArray[np.float32]:
        """Return (count, C, S, S), the model's inputs."""
        return prepare_batch(self.pixels, model.preparation)


def measure_models(
    name: str,
    models: Sequence[Subject],
    subset: ImageSubset,
    compute: Callable[..., Work[R]],
    activity: str,
    *options: Hashable,
) -> list[R] | None:
    """Return `compute(model, subset, *options)` of every model; None while tasks are running or if one failed."""
    running = [
        tasks.start_task(
            (name, model.model.cache_key, subset, *options),
            partial(compute, model.model, subset, *options),
        )
        for model in models
    ]
    return task_progress.wait_for_results(running, f"{activity} over {subset.title}")


def collect_layers(
    model: LoadedModel, subset: ImageSubset, read: Callable[[LayerOutput], T], share: float
) -> Generator[float, None, list[list[T]]]:
    """Run the model over the subset, yielding the completed part of `share`.

    Returns:
        for every layer, what `read` returns for the layer's output in each batch.
    """
    images = subset.prepare_images(model)
    batches: list[list[T]] = []
    for layers in stream_layer_outputs(model, images, BATCH):
        batches.append([read(layer) for layer in layers])
        yield share * min(1.0, len(batches) * BATCH / len(images))
    return [list(layer) for layer in zip(*batches, strict=True)]


def measure_norms(model: LoadedModel, subset: ImageSubset) -> Generator[float, None, list[TokenNorms]]:
    """Measure the norms of all tokens, layer by layer, yielding the completed share."""
    layers = yield from collect_layers(
        model, subset, lambda layer: sinks.measure_norms(layer.places, layer.prefix), 0.95
    )
    return [
        TokenNorms(
            np.concatenate([part.places for part in batches]),
            np.concatenate([part.prefix for part in batches]),
        )
        for batches in layers
    ]


def choose_dataset(compared: Subject, *, labelled: bool = False) -> str:
    """Draw the control of the dataset; its default is the dataset nearest to the model's training data.

    Args:
        labelled: offer only datasets with class labels.
    """
    names = [name for name in picture_sets() if name != "photos" or not labelled]
    model = compared.model
    default = default_pictures(model.trained_on, model.preparation.in_chans)
    default = default if default in names else "cifar10-few"
    widgets.follow_default("layers.set", default)
    return widgets.select(
        "layers.set", "Dataset", names, default, format_func=lambda name: find_note(name).title
    )


def choose_images(
    models: tuple[Subject, ...], most: int, usual: int, *, labelled: bool = False
) -> ImageSubset:
    """Draw the controls of dataset and image count.

    Args:
        most: the largest count offered.
        usual: the default count; `FEW` if a model is large.
    """
    source = choose_dataset(models[0], labelled=labelled)
    counts = [count for count in COUNTS if count <= most]
    default = FEW if any(model.layout.num_tokens > LARGE_TOKENS for model in models) else usual
    widgets.follow_default("layers.count", default)
    count = widgets.select_slider(
        "layers.count",
        "Test images",
        counts,
        default,
        help="The first images of the test split.",
    )
    return ImageSubset(source, min(count, shared_cache.count_test_images(source)))
