"""List a run's snapshots, and compute what the timeline shows of each; runs in a background thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pages.stores import runs, shared_cache
from pages.train.lab import recorded_run
from pages.train.lab.recorded_run import Recording

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.image_preprocessing import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.pin import Pin
    from vitviz.probe.snapshot_evaluation import Frame, HeldOut
    from vitviz.training.run_directory import Run

HELD_OUT = 200  # validation images that are classified at every snapshot


class Version(NamedTuple):
    """One snapshot file; a resumed run may write the same step again with other weights."""

    step: int
    modified_ns: int


def list_versions(run: Run | Recording) -> list[Version]:
    return [Version(*entry) for entry in run.snapshot_times().items()]


def describe_waiting(run: Run | Recording) -> str:
    if isinstance(run, Recording) or runs.read_status(run).active:
        return "Waiting for the first snapshot…"
    return "The run ended before its first snapshot."


@shared_cache.shared(max_entries=8)
def load_model(run_id: str, version: Version) -> LoadedModel:
    from vitviz.checkpoints import open_model

    return open_model(recorded_run.get_snapshot_path(run_id, version.step), version.step)


@shared_cache.shared(max_entries=4)
def load_held_out(dataset_name: str, fraction: float, preparation: Preparation) -> HeldOut | None:
    """Return up to `HELD_OUT` validation images of a run, or None if its dataset is not on this server."""
    from vitviz.data.dataset import DatasetError, validation_split
    from vitviz.data.datasets import available_datasets
    from vitviz.data.image_preprocessing import prepare_batch
    from vitviz.data.uploaded_datasets import is_uploaded
    from vitviz.probe.snapshot_evaluation import HeldOut
    from vitviz.training.batches import SPLIT_SEED

    if dataset_name not in available_datasets() and not is_uploaded(dataset_name):
        return None
    try:
        dataset = shared_cache.load_dataset(dataset_name)
    except DatasetError:
        return None
    if dataset.train_labels is None:
        return None
    chosen = validation_split(dataset, fraction, SPLIT_SEED)[1][:HELD_OUT]
    shown = dataset.train_images[chosen]
    in_colour = np.broadcast_to(shown, (*shown.shape[:3], 3))
    return HeldOut(prepare_batch(shown, preparation), dataset.train_labels[chosen], in_colour)


def compute_frame(run_id: str, version: Version, held_out: HeldOut | None) -> Frame:
    """Evaluate one snapshot on the held-out images, if any, and extract its weights' images."""
    from vitviz.probe import snapshot_evaluation

    return snapshot_evaluation.frame(load_model(run_id, version), held_out)


def compute_attention(
    run_id: str, version: Version, seen: Prepared, pin: Pin
) -> NDArray[np.floating[Any]] | None:
    """Return the selected query's attention (layers, heads, rows, cols), or None without attention."""
    from vitviz.probe import snapshot_evaluation

    return snapshot_evaluation.attention(load_model(run_id, version), seen, pin)
