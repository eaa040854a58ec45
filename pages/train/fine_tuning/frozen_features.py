"""The body as it came, frozen: a logistic regression on its features of the race's own pictures, in seconds."""

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
from vitviz.models.transfer import begun
from vitviz.models.vit import VisionTransformer
from vitviz.probe.features import features, patch_means
from vitviz.text import percent
from vitviz.training.batches import Pictures, normaliser, training_data
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.start_weights import load_start

TITLE = "Features of the frozen body"
MOST = 3000  # pictures that are read while the page waits
TOO_MANY = (
    f"The frozen body's features are read where there are up to {MOST:,} pictures in all, and all are here."
)


@dataclass(frozen=True)
class Read:
    """What a logistic regression gets right: on what the body's head reads, and, beside [CLS], on its patches' mean."""

    accuracy: float
    of_mean: float | None

    @property
    def group(self) -> Group:
        """As it is drawn beside the race."""
        return Group("frozen", TITLE, (), (self.accuracy,))

    @property
    def said(self) -> str:
        """What it gets right, in a sentence."""
        begins = "A logistic regression on"
        if self.of_mean is None:
            what = f"{begins} the features of the body as it came gets {percent(self.accuracy)}"
        else:
            what = (
                f"{begins} [CLS] of the body as it came gets {percent(self.accuracy)}, on the mean of its patches"
                f" {percent(self.of_mean)}"
            )
        return f"{what}, without one update of the body."


def read(run: Run) -> Read | None:
    """What the frozen body's features are worth; None where they cannot be read, or are too many."""
    try:
        return _read(run.id, run)
    except (RunError, DatasetError, ValueError):  # the pictures, or the weights that it began with, are gone
        return None


@cached.shared(most=32, spinner="Reading the frozen body's features …")
def _read(run_id: str, _run: Run) -> Read | None:
    config = _run.config()
    data = training_data(cached.dataset(config.train.dataset), config.preparation, config.train)
    if len(data.train) + len(data.test) > MOST:
        return None
    start = load_start(_run, config.train)
    (state,) = start.snapshots.values()
    body = begun(start.config, 0, state)
    inputs = [_inputs(part, config) for part in (data.train, data.test)]
    labels = [part.labels.numpy() for part in (data.train, data.test)]

    def right(of: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> float:
        train, test = map(of, inputs)
        return linear_accuracy(train, labels[0], test, labels[1])

    accuracy = right(partial(features, body))
    if isinstance(body, VisionTransformer) and body.config.readout == "cls":
        return Read(accuracy, right(partial(patch_means, body)))
    return Read(accuracy, None)


def _inputs(part: Pictures, config: RunConfig) -> NDArray[np.float32]:
    normalise, _ = normaliser(config.preparation, torch.float32, torch.device("cpu"))
    inputs: NDArray[np.float32] = normalise(part.images).numpy()
    return inputs
