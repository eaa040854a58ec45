"""Select the displayed race, and read its curves, its test accuracies and those of its frozen backbone."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import run_start
from pages.stores import runs, session, shared_cache
from pages.train.fine_tuning.race_controls import TuningControls
from vitviz.analysis.fine_tuning import Group
from vitviz.analysis.probes import linear_accuracy
from vitviz.data.dataset import DatasetError
from vitviz.data.datasets import data_title
from vitviz.experiments.result_file import Result
from vitviz.models.backbone_transfer import create_initialised_model
from vitviz.models.vit import VisionTransformer
from vitviz.probe.layers import extract_features, patch_means
from vitviz.text import percent
from vitviz.training.batches import PreparedImages, make_normaliser, prepare_training_data
from vitviz.training.fine_tuning_race import PRESET, SCRATCH, TITLES, TUNED, part_of
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run, RunError
from vitviz.training.start_weights import load_start

PROBE_TITLE = "Frozen backbone"
MAX_PROBE_IMAGES = 3000  # in all; more would keep the page waiting
TOO_MANY_IMAGES = f"Frozen features are computed for up to {MAX_PROBE_IMAGES:,} images; this run has more."


def load_groups(run: Run) -> tuple[Group, Group]:
    """Load the curves and test accuracies of (fine-tuned, from scratch) over their seeds."""
    groups: dict[str, list[Run]] = {name: [] for name in TITLES}
    for member in run.members():
        groups[part_of(member.directory.name)[0]].append(member)
    tuned, scratch = (_make_group(name, groups[name]) for name in (TUNED, SCRATCH))
    return tuned, scratch


def load_recorded(stored: Result, epochs: float) -> tuple[Group, Group]:
    """Return (fine-tuned, from scratch) of the stored MNIST ViT with 20 images per class, over so many epochs."""

    def read_group(name: str) -> Group:
        rows = stored.where(source="mnist_vit", a_class=20, method=name)
        curves = [np.array([[step, accuracy] for step, _, accuracy in row["curve"]]).T for row in rows]
        scale = np.array([[epochs / stored.settings["updates"]], [1.0]])
        return Group(
            name, TITLES[name], tuple(curve * scale for curve in curves), tuple(row["test"] for row in rows)
        )

    return read_group(TUNED), read_group(SCRATCH)


def _make_group(name: str, members: list[Run]) -> Group:
    logs = [runs.open_log(member.id).read() for member in members]
    curves = tuple(log.validation()[[1, -1]] for log in logs)
    tests = [float(log.test["accuracy"]) for log in logs if log.test is not None]
    return Group(name, TITLES[name], curves, tuple(tests) if len(tests) == len(logs) else ())


def count_test_images(run: Run) -> int:
    """Return the number of test images; 0 before the race has ended."""
    test = runs.open_log(run.members()[0].id).read().test
    return 0 if test is None else int(test["images"])


def find_first_seed(config: RunConfig, name: str) -> Member:
    return next(member for member in config.members if part_of(member.name)[0] == name)


def find_member(run: Run, name: str, seed: int) -> Run:
    return next(member for member in run.members() if part_of(member.directory.name) == (name, seed))


def choose_race() -> Run | None:
    """Draw the selection among the session's races and the permalink's; return None if there is none."""
    run_start.draw_notice()
    races = {run.id: run for run in runs.list_runs(session.get_current()) if run.config().preset == PRESET}
    if not races:
        return None
    count = len(races)
    configs = [run.config() for run in races.values()]
    titles = [f"{count - i}. {c.name}: {data_title(c.train.dataset)}" for i, c in enumerate(configs)]
    names = dict(zip(races, titles, strict=True))
    widgets.resolve_option(TuningControls.key("run"), tuple(races))
    if count == 1:
        widgets.store_value(TuningControls.key("run"), next(iter(races)))
        return next(iter(races.values()))
    return races[widgets.select(TuningControls.key("run"), "Race shown", names)]


@dataclass(frozen=True)
class LinearProbe:
    """Test accuracy of a logistic regression on the head's input and, for [CLS], on the mean of the patches."""

    accuracy: float
    patch_mean_accuracy: float | None

    @property
    def group(self) -> Group:
        """The probe as a group of the race's figure."""
        return Group("frozen", PROBE_TITLE, (), (self.accuracy,))

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
    if len(splits.train) + len(splits.test) > MAX_PROBE_IMAGES:
        return None
    start = load_start(_run, config.train)
    (state,) = start.snapshots.values()
    backbone = create_initialised_model(start.config, 0, state)
    inputs = [_prepare_inputs(part, config) for part in (splits.train, splits.test)]
    labels = [part.labels.numpy() for part in (splits.train, splits.test)]

    def measure_accuracy(extract: Callable[[NDArray[np.float32]], NDArray[np.float32]]) -> float:
        train, test = map(extract, inputs)
        return linear_accuracy(train, labels[0], test, labels[1])

    accuracy = measure_accuracy(partial(extract_features, backbone))
    if isinstance(backbone, VisionTransformer) and backbone.config.readout == "cls":
        return LinearProbe(accuracy, measure_accuracy(partial(patch_means, backbone)))
    return LinearProbe(accuracy, None)


def _prepare_inputs(part: PreparedImages, config: RunConfig) -> NDArray[np.float32]:
    normalise, _ = make_normaliser(config.preparation, torch.float32, torch.device("cpu"))
    inputs: NDArray[np.float32] = normalise(part.images).numpy()
    return inputs
