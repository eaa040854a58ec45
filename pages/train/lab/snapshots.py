"""The snapshots of a run: which there are, and what each shows.

`frame` and `attention` are computed behind the pages (pages/train/lab/snapshot_views.py): nothing here draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pages.stores import cached, runs
from pages.train.lab import recorded_run
from pages.train.lab.recorded_run import Recording

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.preparation import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.pin import Pin
    from vitviz.probe.snapshot import Frame, HeldOut
    from vitviz.training.run_directory import Run

HELD_OUT = 200  # validation pictures that are classified at every snapshot


class Version(NamedTuple):
    """One snapshot as it lies there now: a resumed run may make the same step anew, with other weights."""

    step: int
    modified_ns: int


def versions(run: Run | Recording) -> list[Version]:
    """The snapshots of a run or a recording, ascending."""
    return [Version(*found) for found in run.snapshot_times().items()]


def waiting(run: Run | Recording) -> str:
    """What is said of a run while it has no snapshot."""
    if isinstance(run, Recording) or runs.status(run).active:
        return "The first snapshot is on its way."
    return "This run ended before its first snapshot."


@cached.shared(most=8)
def model_at(run_id: str, version: Version) -> LoadedModel:
    """The model of one snapshot."""
    from vitviz.checkpoints import open_model

    return open_model(recorded_run.snapshot_path(run_id, version.step), version.step)


@cached.shared(most=4)
def held_out(dataset: str, fraction: float, preparation: Preparation) -> HeldOut | None:
    """Pictures that a run validates on; `HELD_OUT` at most.

    None where the set is not on this server: a run may have been uploaded, or its visitor's pictures removed.
    """
    from vitviz.data.dataset import DatasetError
    from vitviz.data.datasets import available_datasets, validation_split
    from vitviz.data.own_datasets import is_own
    from vitviz.data.preparation import prepare_batch
    from vitviz.probe.snapshot import HeldOut
    from vitviz.training.batches import SPLIT_SEED

    if dataset not in available_datasets() and not is_own(dataset):
        return None
    try:
        data = cached.dataset(dataset)
    except DatasetError:
        return None
    if data.train_labels is None:
        return None
    chosen = validation_split(data, fraction, SPLIT_SEED)[1][:HELD_OUT]
    shown = data.train_images[chosen]
    in_colour = np.broadcast_to(shown, (*shown.shape[:3], 3))
    return HeldOut(prepare_batch(shown, preparation), data.train_labels[chosen], in_colour)


def frame(run_id: str, version: Version, held_out: HeldOut | None) -> Frame:
    """Judges one snapshot on what its run held out (None: it is gone), and measures what it has learned."""
    from vitviz.probe import snapshot

    return snapshot.frame(model_at(run_id, version), held_out)


def attention(run_id: str, version: Version, seen: Prepared, pin: Pin) -> NDArray[np.floating[Any]] | None:
    """(layers, heads, rows, cols): what the pinned query attends to; None where a model has no such thing."""
    from vitviz.probe import snapshot

    return snapshot.attention(model_at(run_id, version), seen, pin)
