"""Fit a logistic regression on the frozen backbone's features of the race's images."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from pages.stores import shared_cache
from vitviz.analysis.fine_tuning import Group
from vitviz.analysis.probes import linear_accuracy
from vitviz.data.dataset import DatasetError
from vitviz.models.backbone_transfer import create_initialised_model
from vitviz.models.vit import VisionTransformer
from vitviz.probe.features import extract_features, patch_means
from vitviz.text import percent
from vitviz.training.batches import PreparedImages, make_normaliser, prepare_training_data
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.start_weights import load_start

TITLE = "Frozen backbone"
MAX_IMAGES = 3000  # in all; more would keep the page waiting
TOO_MANY = f"Frozen features are computed for up to {MAX_IMAGES:,} images; this run has more."


@dataclass(frozen=True)
class LinearProbe:
    """Test accuracy of a logistic regression on the head's input and, for [CLS], on the mean of the patches."""

    accuracy: float
    patch_mean_accuracy: float | None

    @property
    def group(self) -> Group:
        """The probe as a group of the race's figure."""
        return Group("frozen", TITLE, (), (self.accuracy,))

    def describe(self) -> str:
        if self.patch_mean_accuracy is None:
            return f"A logistic regression on features of the frozen backbone: {percent(self.accuracy)}."
        return (
            f"A logistic regression on [CLS] of the frozen backbone: {percent(self.accuracy)}; on the mean of its"
            f" patches: {percent(self.patch_mean_accuracy)}."
        )


def fit_probe(run: Run) -> LinearProbe | None:
    """Return the probe of a race's backbone; None if images or weights are missing, or the images too many."""
    try:
        return _fit_probe(run.id, run)
    except (RunError, DatasetError, ValueError):  # the images or the initial weights were deleted
        return None


@shared_cache.shared(max_entries=32, spinner="Reading the frozen backbone's features …")
def _fit_probe(run_id: str, _run: Run) -> LinearProbe | None:
    config = _run.config()
    splits = prepare_training_data(
        shared_cache.load_dataset(config.train.dataset), config.preparation, config.train
    )
    if len(splits.train) + len(splits.test) > MAX_IMAGES:
        return None
    start = load_start(_run, config.train)
    (state,) = start.snapshots.values()
    backbone = create_initialised_model(start.config, 0, state)
    inputs = [_load_inputs(part, config) for part in (splits.train, splits.test)]
    labels = [part.labels.numpy() for part in (splits.train, splits.test)]

    def measure_accuracy(extract: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> float:
        train, test = map(extract, inputs)
        return linear_accuracy(train, labels[0], test, labels[1])

    accuracy = measure_accuracy(partial(extract_features, backbone))
    if isinstance(backbone, VisionTransformer) and backbone.config.readout == "cls":
        return LinearProbe(accuracy, measure_accuracy(partial(patch_means, backbone)))
    return LinearProbe(accuracy, None)


def _load_inputs(part: PreparedImages, config: RunConfig) -> NDArray[np.float32]:
    normalise, _ = make_normaliser(config.preparation, torch.float32, torch.device("cpu"))
    inputs: NDArray[np.float32] = normalise(part.images).numpy()
    return inputs
