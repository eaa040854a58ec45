"""All models of a session: made from its run's config, resumed from one file, and how they stand together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitviz.checkpoints import open_model
from vitviz.data.datasets import load_dataset
from vitviz.models.loaded_model import LoadedModel
from vitviz.training.batches import TrainingData, prepare_training_data
from vitviz.training.loop import Trainer
from vitviz.training.model_trainer import Listener, ModelTrainer
from vitviz.training.records import Ended
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, RunError, Status
from vitviz.training.shuffling import ShuffleTest, patch_px
from vitviz.training.start_weights import starts

PROJECT = Path(__file__).resolve().parents[2]


def make_lanes(run: Run, device: torch.device, listen: Listener | None) -> tuple[list[ModelTrainer], str]:
    """Return a lane for every model of a run, and the digests of their teachers; empty where nothing teaches.

    Raises:
        DatasetError: if the run's images are not here.
        RunError, CheckpointError: if the weights that it begins with are not in its folder.
        ValueError: if model, recipe, images, teacher and those weights do not fit together.
    """
    runs = run.members() or [run]
    configs = [one.config() for one in runs]
    data = _pictures(configs, run.directory.parent, device)
    teachers = _teachers(configs, run.directory.parent)
    begun = starts(run, configs)
    # One size of pieces for all members, a CNN too: they are compared; what began elsewhere is asked other questions.
    asked = bool(run.members()) and not any(begun)
    side = _piece_px(configs) if asked else 0
    test = ShuffleTest(next(iter(data.values())), side) if side else None
    lanes = []
    for one, config, start in zip(runs, configs, begun, strict=True):
        teacher = teachers.get(config.train.distill_from or "")
        trainer = Trainer(
            config.model,
            config.train,
            data[_learned_from(config)],
            str(device),
            None if teacher is None else teacher.model,
            start,
        )
        lanes.append(ModelTrainer(one, trainer, test, listen))
    return lanes, " ".join(sorted({teacher.digest for teacher in teachers.values()}))


def _piece_px(configs: list[RunConfig]) -> int:
    """Side of the largest patch of these models that is a part of the image: one that is all of it has no order."""
    sides = (patch_px(config.model) or 0 for config in configs)
    return max((side for side in sides if side < configs[0].preparation.image_size), default=0)


Learned = tuple[
    float, int | None
]  # the share of the images that a model learns from, and how many of a class


def _learned_from(config: RunConfig) -> Learned:
    return config.train.train_fraction, config.train.a_class


def _pictures(
    configs: list[RunConfig], runs_folder: Path, device: torch.device
) -> dict[Learned, TrainingData]:
    """By what is trained on: once, not once per lane; what is held out is the same for all."""
    dataset = load_dataset(configs[0].train.dataset, runs_folder=runs_folder)
    found: dict[Learned, TrainingData] = {}
    for config in configs:
        if _learned_from(config) not in found:
            data = prepare_training_data(dataset, config.preparation, config.train)
            found[_learned_from(config)] = replace(data, train=data.train.to(device))
    return found


def _teachers(configs: list[RunConfig], runs_folder: Path) -> dict[str, LoadedModel]:
    """Return every teacher that a model of the run names, by its path."""
    found: dict[str, LoadedModel] = {}
    for config in configs:
        path = config.train.distill_from
        if path is not None:
            found[path] = load_teacher(config, path, runs_folder)
    return found


def load_teacher(config: RunConfig, path: str, runs_folder: Path) -> LoadedModel:
    """Return the distillation teacher that lies at a path.

    Raises:
        CheckpointError: if its file cannot be used.
        RunError: if it lies elsewhere, was made for other images or classes, or gives no logits.
    """
    file = (PROJECT / path).resolve()  # an absolute path stays one
    if not any(file.is_relative_to(folder) for folder in (PROJECT / "checkpoints", runs_folder.resolve())):
        raise RunError("a teacher must be one of the project's checkpoints or of the runs' snapshots")
    loaded = open_model(file)
    if getattr(loaded.config, "softmax_output", False):
        raise RunError("the teacher gives probabilities, not logits: its softmax would be taken twice")
    if loaded.preparation != config.preparation:
        raise RunError("the teacher was made for another preparation of the images than the student")
    taught, learns = loaded.config.num_classes, config.model.num_classes
    if taught != learns:
        raise RunError(f"the teacher knows {taught} classes, the student learns {learns}")
    return loaded


def taught_by(lanes: list[ModelTrainer]) -> str:
    """Return the paths of the lanes' teachers."""
    return " or ".join(sorted({lane.config.train.distill_from or "" for lane in lanes} - {""})) or "none"


def as_one(lanes: list[ModelTrainer]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return what resumes all lanes, for one file: it is written whole, so they never resume from different steps."""
    if not lanes[0].run.is_member:
        return lanes[0].trainer.state()
    tensors: dict[str, Tensor] = {}
    values: dict[str, Any] = {"step": lanes[0].trainer.step, "members": {}}
    for lane in lanes:
        name = lane.run.directory.name
        found, said = lane.trainer.state()
        ended = None if lane.ended is None else [lane.ended.reason, lane.ended.message]
        values["members"][name] = {**said, "ended": ended}
        tensors |= {f"{name}/{key}": tensor for key, tensor in found.items()}
    return tensors, values


def restore(lanes: list[ModelTrainer], tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Put every lane where `as_one` found it; one that had ended stays ended."""
    if not lanes[0].run.is_member:
        lanes[0].trainer.load_state(tensors, values)
        return
    for lane in lanes:
        start = f"{lane.run.directory.name}/"
        own = {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}
        said = values["members"][lane.run.directory.name]
        lane.trainer.load_state(own, said)
        if said.get("ended") is not None:  # runs saved before members could end alone have no such word
            reason, message = said["ended"]
            lane.ended = Ended(reason, lane.trainer.step, message)


def how_it_ended(lanes: list[ModelTrainer]) -> tuple[str, str]:
    """Return (state, message) of a run whose lanes have all ended: it is done where one of them is."""
    ends = [(lane, lane.ended) for lane in lanes if lane.ended is not None]
    done = any(end.reason == "done" for _, end in ends)
    said = [
        f"{lane.config.name}: {end.message}" if lane.run.is_member else end.message
        for lane, end in ends
        if end.message
    ]
    return "done" if done else "diverged", "; ".join(said)


def combine_status(lanes: list[ModelTrainer]) -> Status:
    """Return how lanes stand as one run: they share their time, and several have no one accuracy."""
    first = lanes[0].status
    if len(lanes) == 1:
        return first
    going = [lane for lane in lanes if lane.ended is None]
    done = [lane for lane in lanes if lane.ended is not None and lane.ended.reason == "done"]
    states = [lane.status for lane in going or done or lanes]
    # They are equally far, but for those that stopped at their aim: then it is as far as the one that took longest.
    least = (min if going else max)(states, key=lambda status: (status.progress, status.epoch))
    speeds = [status.images_per_second for status in states]
    left = [status.seconds_left for status in states]
    return replace(
        first,
        step=least.step,
        total_steps=least.total_steps,
        progress=least.progress,
        epoch=least.epoch,
        seconds=sum(lane.status.seconds for lane in lanes),
        seconds_left=None if None in left else sum(value or 0.0 for value in left),
        # Each speed counts a lane's own turns only; one after the other they add their times.
        images_per_second=len(speeds) / sum(1 / speed for speed in speeds) if all(speeds) else 0.0,
        accuracy=None,
        test_accuracy=None,
    )
