"""The backbone as it came, frozen: a logistic regression on its features of the race's own images, in seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from pages.stores import cached
from vitviz.analysis.fine_tuning import Group
from vitviz.analysis.probes import linear_accuracy
from vitviz.data.dataset import DatasetError
from vitviz.models.transfer import create_initialised_model
from vitviz.models.vit import VisionTransformer
from vitviz.probe.features import features, patch_means
from vitviz.text import percent
from vitviz.training.batches import PreparedImages, make_normaliser, prepare_training_data
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.start_weights import load_start

TITLE = "Features of the frozen backbone"
MAX_IMAGES = 3000  # images that are read while the page waits
TOO_MANY = f"Frozen features are computed for up to {MAX_IMAGES:,} images in all, and all are here."


@dataclass(frozen=True)
class LinearProbe:
    """Accuracy of a logistic regression on the features of the head and, for [CLS], on the mean of the patches."""

    accuracy: float
    of_mean: float | None

    @property
    def group(self) -> Group:
        """As it is drawn beside the race."""
        return Group("frozen", TITLE, (), (self.accuracy,))

    @property
    def said(self) -> str:
        """The accuracy as a sentence."""
        begins = "A logistic regression on"
        if self.of_mean is None:
            what = f"{begins} the features of the backbone as it came gets {percent(self.accuracy)}"
        else:
            what = (
                f"{begins} [CLS] of the backbone as it came gets {percent(self.accuracy)}, on the mean of its patches"
                f" {percent(self.of_mean)}"
            )
        return f"{what}, without updating the backbone."


def fit_probe(run: Run) -> LinearProbe | None:
    """Return what the frozen backbone's features are worth; None where they cannot be read, or are too many."""
    try:
        return _fit_probe(run.id, run)
    except (RunError, DatasetError, ValueError):  # the images, or the weights that it began with, are gone
        return None


@cached.shared(max_entries=32, spinner="Reading the frozen backbone's features …")
def _fit_probe(run_id: str, _run: Run) -> LinearProbe | None:
    config = _run.config()
    data = prepare_training_data(cached.load_dataset(config.train.dataset), config.preparation, config.train)
    if len(data.train) + len(data.test) > MAX_IMAGES:
        return None
    start = load_start(_run, config.train)
    (state,) = start.snapshots.values()
    body = create_initialised_model(start.config, 0, state)
    inputs = [_load_inputs(part, config) for part in (data.train, data.test)]
    labels = [part.labels.numpy() for part in (data.train, data.test)]

    def right(of: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> float:
        train, test = map(of, inputs)
        return linear_accuracy(train, labels[0], test, labels[1])

    accuracy = right(partial(features, body))
    if isinstance(body, VisionTransformer) and body.config.readout == "cls":
        return LinearProbe(accuracy, right(partial(patch_means, body)))
    return LinearProbe(accuracy, None)


def _load_inputs(part: PreparedImages, config: RunConfig) -> NDArray[np.float32]:
    normalise, _ = make_normaliser(config.preparation, torch.float32, torch.device("cpu"))
    inputs: NDArray[np.float32] = normalise(part.images).numpy()
    return inputs
