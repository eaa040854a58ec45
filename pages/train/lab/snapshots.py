"""List and evaluate the snapshots of runs, and of the trainings that shipped checkpoints record.

A recorded training is shown like a run, without run directory or trainer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pages.selection import default_model, selection, substitutes
from pages.stores import catalogue, parameter_history, runs, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.stores.record_arrays import Records
from vitviz.analysis import position_similarity
from vitviz.growth import Growth
from vitviz.models.abilities import as_vit
from vitviz.models.token_layout import TokenLayout

if TYPE_CHECKING:
    from vitviz.config import Preparation
    from vitviz.data.image_preprocessing import Prepared
    from vitviz.models.loaded_model import LoadedModel
    from vitviz.pin import Pin
    from vitviz.probe.snapshot_evaluation import HeldOut, SnapshotFrame
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run

KEY = "checkpoint:"  # prefix of a recording's id, and of no run's
FEWEST = 3  # snapshots needed to play a recording
HELD_OUT = 200  # validation images that are classified at every snapshot


@dataclass(frozen=True)
class Recording:
    """The recorded training of a shipped checkpoint, with the interface that the timeline needs of a run."""

    choice: ModelChoice
    path: Path

    @property
    def id(self) -> str:
        return self.choice.key

    def config(self) -> RunConfig:
        """Return the configuration of the training.

        Raises:
            ValueError: if the file does not contain it, or if it exceeds the lab's limits.
        """
        from vitviz.training.run_config import RunConfig

        header = catalogue.read_header(self.path)
        if header.train is None:
            raise ValueError(f"{self.path.name} does not contain its training configuration")
        train = header.train
        if self.growth is not None and not self.growth.is_shipped:
            train = replace(train, epochs=float(self.growth.epochs[-1]))
        return RunConfig(header.config, header.preparation, train, name=self.choice.title)

    def snapshot_times(self) -> dict[int, int]:
        """Return the steps, ascending, each with the file's modification time in nanoseconds."""
        return dict.fromkeys(self._steps, self.path.stat().st_mtime_ns)

    def records(self) -> Records:
        """Return the curves of the training that plays, with the epoch and seconds of every snapshot."""
        header = catalogue.read_header(self.path)
        history, accuracy = header.history, header.card.get("test_accuracy")
        if self.growth is not None and not self.growth.is_shipped:
            history, accuracy = [*self.growth.history], self.growth.test_accuracy
        recorded = Records(history)
        if recorded.test is None and isinstance(accuracy, float):
            recorded.test = {"accuracy": accuracy}
        table, steps = recorded.training(), self._steps
        if table.shape[1]:  # the file stores only the snapshots' steps; interpolate epoch and seconds
            epochs, seconds = (np.interp(steps, (0.0, *table[0]), (0.0, *table[row])) for row in (1, 2))
            recorded.snapshots = {
                step: (float(e), float(s)) for step, e, s in zip(steps, epochs, seconds, strict=True)
            }
        return recorded

    @property
    def growth(self) -> Growth | None:
        """Return what this training, or another run of its recipe, has stored of its moments; None if nothing."""
        return parameter_history.find_recorded(self.choice)

    def describe(self) -> str:
        """Return how the training that plays differs from the model's own; '' if it is the same."""
        return "" if self.growth is None else parameter_history.describe_recorded(self.choice, self.growth)

    @property
    def _steps(self) -> tuple[int, ...]:
        return self.choice.steps if self.growth is None else tuple(self.growth.steps.tolist())

    @property
    def image(self) -> str:
        """Return the selected image if its attention is stored, or without any stored if it fits the dataset."""
        image, pin = substitutes.choose_image(self.choice)[0], selection.get_current().pin
        if self.growth is None or self.growth.attention(image, pin.token(self.layout)) is not None:
            return image
        return self.growth.image

    @property
    def layout(self) -> TokenLayout:
        """Return the tokens of a ViT."""
        config = as_vit(self.choice.config)
        return TokenLayout(config.prefix_tokens, config.grid, config.patch_size)


def choose_recording() -> Recording | None:
    """Return the recording of the selected model if it is shipped, else of the default model."""
    for key in (selection.get_current().model, default_model.get_default_model()):
        recording = find_recording(key)
        if recording is not None:
            return recording
    return None


def find_recording(key: str) -> Recording | None:
    """Return the recording of a shipped model by its key, or None if its file contains no training."""
    choice = next((c for c in catalogue.list_checkpoints() if c.key == key), None)
    if choice is None or choice.path is None or len(choice.steps) < FEWEST or not choice.curve:
        return None
    recording = Recording(choice, choice.path)
    try:
        recording.config()
    except (ValueError, OSError):
        return None
    return recording


def find_run(run_id: str) -> Run | Recording | None:
    return find_recording(run_id) if run_id.startswith(KEY) else runs.find_run(run_id)


def load_records(run_id: str) -> Records:
    """Return the records of a run or recording.

    Raises:
        KeyError: if the recording does not exist.
        vitviz.training.run_directory.RunError: if the run does not exist.
    """
    if not run_id.startswith(KEY):
        return runs.open_log(run_id).read()
    return _require_recording(run_id).records()


def get_snapshot_path(run_id: str, step: int) -> Path:
    """Return the checkpoint file of a step of a run or recording.

    Raises:
        KeyError: if the recording does not exist.
        vitviz.training.run_directory.RunError: if the run or the step does not exist.
    """
    return _require_recording(run_id).path if run_id.startswith(KEY) else runs.get_snapshot_path(run_id, step)


def get_model_key(run_id: str) -> str:
    return run_id if run_id.startswith(KEY) else f"run:{run_id}"


def _require_recording(key: str) -> Recording:
    recording = find_recording(key)
    if recording is None:
        raise KeyError(key)
    return recording


class Version(NamedTuple):
    """One snapshot file; a resumed run may write the same step again with other weights."""

    step: int
    modified_ns: int


def list_versions(run: Run | Recording) -> list[Version]:
    return [Version(*entry) for entry in run.snapshot_times().items()]


def find_weights(run: Run | Recording, step: int | None) -> Version:
    """Return the stored weights nearest to a step (None: the last): a recorded training has moments without weights."""
    versions = list_versions(run)
    if isinstance(run, Recording):
        versions = [Version(stored, versions[0].modified_ns) for stored in run.choice.steps]
    return min(versions[::-1], key=lambda version: 0 if step is None else abs(version.step - step))


def describe_waiting(run: Run | Recording) -> str:
    if isinstance(run, Recording) or runs.read_status(run).active:
        return "Waiting for the first snapshot…"
    return "The run ended before its first snapshot."


@shared_cache.shared(max_entries=8)
def load_model(run_id: str, version: Version) -> LoadedModel:
    """Load the model of a step that a user selects."""
    return _open_snapshot(run_id, version)


# A timeline loads every snapshot once, and must not push out the models that users select.
@shared_cache.shared(max_entries=2)
def _load_passing_model(run_id: str, version: Version) -> LoadedModel:
    return _open_snapshot(run_id, version)


def _open_snapshot(run_id: str, version: Version) -> LoadedModel:
    from vitviz.checkpoints import open_model

    return open_model(get_snapshot_path(run_id, version.step), version.step)


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


def compute_frame(run_id: str, version: Version, held_out: HeldOut | None) -> SnapshotFrame:
    """Evaluate one snapshot on the held-out images, if any, and extract its weights' images."""
    from vitviz.probe import snapshot_evaluation

    recording = find_recording(run_id) if run_id.startswith(KEY) else None
    if recording is not None and recording.growth is not None:
        return _read_frame(recording, recording.growth, version.step, held_out)
    return snapshot_evaluation.frame(_load_passing_model(run_id, version), held_out)


def _read_frame(recording: Recording, growth: Growth, step: int, held_out: HeldOut | None) -> SnapshotFrame:
    """Return the stored results of a moment."""
    from vitviz.probe.snapshot_evaluation import LearnedTables, SnapshotFrame, summarise_predictions

    moment = growth.steps.tolist().index(step)
    config = as_vit(recording.choice.config)
    classes = catalogue.read_header(recording.path).classes
    given = growth.probabilities[moment]
    judged = None
    if held_out is not None and len(held_out.labels) == len(given):
        judged = summarise_predictions(given, held_out, classes)
    table = position_similarity.patch_rows(growth.positions[moment], config.grid)
    tables = LearnedTables(
        grid=config.grid,
        patch_px=config.patch_size,
        similarity=position_similarity.cosine_similarity(table),
        weights=growth.embedding[moment],
        distance_px=growth.distance_px[moment],
        norms=growth.norms[moment],
    )
    return SnapshotFrame(classes, judged, tables)


def compute_attention(
    run_id: str, version: Version, seen: Prepared, pin: Pin, image: str
) -> NDArray[np.floating[Any]] | None:
    """Return the selected query's attention (layers, heads, rows, cols), or None without attention.

    Args:
        image: the key of `seen`, whose attention a recorded training may have stored.
    """
    from vitviz.probe import snapshot_evaluation

    recording = find_recording(run_id) if run_id.startswith(KEY) else None
    growth = None if recording is None else recording.growth
    if recording is not None and growth is not None:
        layout = recording.layout
        rows = growth.attention(image, pin.token(layout))
        if rows is not None:
            row = rows[growth.steps.tolist().index(version.step), ..., layout.num_prefix_tokens :]
            return row.reshape(*row.shape[:2], *layout.grid)
    return snapshot_evaluation.attention(_load_passing_model(run_id, version), seen, pin)
