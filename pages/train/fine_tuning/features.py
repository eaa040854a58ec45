"""The body as it came, frozen: a logistic regression on its features of the race's own pictures, in seconds."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from pages.stores import cached
from vitviz.analysis.fine_tuning import Group
from vitviz.analysis.probes import linear_accuracy
from vitviz.data.dataset import DatasetError
from vitviz.models.transfer import begun
from vitviz.probe.features import features
from vitviz.training.pictures import Pictures, normaliser, training_data
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.start_weights import load_start
from vitviz.words import percent

TITLE = "Features of the frozen body"
MOST = 3000  # pictures that are read while the page waits
TOO_MANY = (
    f"The frozen body's features are read where there are up to {MOST:,} pictures in all, and all are here."
)


def group(run: Run) -> Group | None:
    """What a logistic regression on the features gets right; None where they cannot be read, or are too many."""
    try:
        accuracy = _accuracy(run.id, run)
    except (RunError, DatasetError, ValueError):  # the pictures, or the weights that it began with, are gone
        return None
    return None if accuracy is None else Group("frozen", TITLE, (), (accuracy,))


def said(found: Group) -> str:
    """What it gets right, in a sentence."""
    return (
        f"A logistic regression on the features of the body as it came gets {percent(found.mean)}, without one update"
        " of the body."
    )


@cached.shared(most=32, spinner="Reading the frozen body's features …")
def _accuracy(run_id: str, _run: Run) -> float | None:
    config = _run.config()
    data = training_data(cached.dataset(config.train.dataset), config.preparation, config.train)
    if len(data.train) + len(data.test) > MOST:
        return None
    start = load_start(_run, config.train)
    (state,) = start.snapshots.values()
    body = begun(start.config, 0, state)
    train, test = (features(body, _inputs(part, config)) for part in (data.train, data.test))
    return linear_accuracy(train, data.train.labels.numpy(), test, data.test.labels.numpy())


def _inputs(part: Pictures, config: RunConfig) -> NDArray[np.float32]:
    normalise, _ = normaliser(config.preparation, torch.float32, torch.device("cpu"))
    inputs: NDArray[np.float32] = normalise(part.images).numpy()
    return inputs
