"""Create, resume and summarise the models of a training session."""

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
from vitviz.training.shuffled_patches import ShuffleTest, patch_px
from vitviz.training.start_weights import load_start_weights

PROJECT = Path(__file__).resolve().parents[2]


def make_model_trainers(
    run: Run, device: torch.device, listen: Listener | None
) -> tuple[list[ModelTrainer], str]:
    """Return a trainer for every model of a run, and the identities of their teachers (may be empty).

    Raises:
        DatasetError: if the dataset is missing.
        RunError, CheckpointError: if its initial weights are missing.
        ValueError: if model, recipe, images, teacher and initial weights do not match.
    """
    runs = run.members() or [run]
    configs = [member.config() for member in runs]
    subsets = _pictures(configs, run.directory.parent, device)
    teachers = _teachers(configs, run.directory.parent)
    begun = load_start_weights(run, configs)
    # One patch size for all members, so that they are comparable; pretrained members are not tested.
    is_tested = bool(run.members()) and not any(begun)
    side = _piece_px(configs) if is_tested else 0
    test = ShuffleTest(next(iter(subsets.values())), side) if side else None
    models = []
    for member, config, start in zip(runs, configs, begun, strict=True):
        teacher = teachers.get(config.train.distill_from or "")
        trainer = Trainer(
            config.model,
            config.train,
            subsets[_learned_from(config)],
            str(device),
            None if teacher is None else teacher.model,
            start,
        )
        models.append(ModelTrainer(member, trainer, test, listen))
    return models, " ".join(sorted({teacher.digest for teacher in teachers.values()}))


def _piece_px(configs: list[RunConfig]) -> int:
    """Return the side of the largest patch that is smaller than the image; 0 if there is none."""
    sides = (patch_px(config.model) or 0 for config in configs)
    return max((side for side in sides if side < min(configs[0].preparation.image_shape)), default=0)


Learned = tuple[float, int | None]  # fraction of the training images, and images per class


def _learned_from(config: RunConfig) -> Learned:
    return config.train.train_fraction, config.train.a_class


def _pictures(
    configs: list[RunConfig], runs_folder: Path, device: torch.device
) -> dict[Learned, TrainingData]:
    """Return the data by training subset, loaded once; all share the held-out images."""
    dataset = load_dataset(configs[0].train.dataset, runs_folder=runs_folder)
    prepared: dict[Learned, TrainingData] = {}
    for config in configs:
        if _learned_from(config) not in prepared:
            splits = prepare_training_data(dataset, config.preparation, config.train)
            prepared[_learned_from(config)] = replace(splits, train=splits.train.to(device))
    return prepared


def _teachers(configs: list[RunConfig], runs_folder: Path) -> dict[str, LoadedModel]:
    """Return the teachers of all models by path."""
    return {
        path: load_teacher(config, path, runs_folder)
        for config in configs
        if (path := config.train.distill_from) is not None
    }


def load_teacher(config: RunConfig, path: str, runs_folder: Path) -> LoadedModel:
    """Return the distillation teacher stored at a path.

    Raises:
        CheckpointError: if its file cannot be used.
        RunError: if the path is not allowed, or the teacher has other images or classes, or outputs no logits.
    """
    file = (PROJECT / path).resolve()  # an absolute path stays absolute
    if not any(file.is_relative_to(folder) for folder in (PROJECT / "checkpoints", runs_folder.resolve())):
        raise RunError("the teacher must be a shipped checkpoint or a snapshot of a run")
    loaded = open_model(file)
    if getattr(loaded.config, "softmax_output", False):
        raise RunError(
            "the teacher must output logits, but this one outputs probabilities: choose another teacher"
        )
    if loaded.preparation != config.preparation:
        raise RunError("teacher and student must share the preparation of images: choose another teacher")
    taught, learns = loaded.config.num_classes, config.model.num_classes
    if taught != learns:
        raise RunError(f"teacher and student must have the same classes, received {taught} and {learns}")
    return loaded


def list_teachers(models: list[ModelTrainer]) -> str:
    """Return the paths of the models' teachers as text."""
    return " or ".join(sorted({model.config.train.distill_from or "" for model in models} - {""})) or "none"


def pack_state(models: list[ModelTrainer]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return (tensors, values) of all models for one file, so that all resume from the same step."""
    if not models[0].run.is_member:
        return models[0].trainer.state()
    tensors: dict[str, Tensor] = {}
    values: dict[str, Any] = {"step": models[0].trainer.step, "members": {}}
    for model in models:
        name = model.run.directory.name
        model_tensors, model_values = model.trainer.state()
        ended = None if model.ended is None else [model.ended.reason, model.ended.message]
        values["members"][name] = {**model_values, "ended": ended}
        tensors |= {f"{name}/{key}": tensor for key, tensor in model_tensors.items()}
    return tensors, values


def restore_state(models: list[ModelTrainer], tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Put every model where `as_one` found it; one that had ended stays ended."""
    if not models[0].run.is_member:
        models[0].trainer.load_state(tensors, values)
        return
    for model in models:
        start = f"{model.run.directory.name}/"
        model_tensors = {
            name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)
        }
        model_values = values["members"][model.run.directory.name]
        model.trainer.load_state(model_tensors, model_values)
        if model_values.get("ended") is not None:  # missing in older runs
            reason, message = model_values["ended"]
            model.ended = Ended(reason, model.trainer.step, message)


def summarise_endings(models: list[ModelTrainer]) -> tuple[str, str]:
    """Return (state, message) of an ended run; it is done if at least one model is."""
    ends = [(model, model.ended) for model in models if model.ended is not None]
    done = any(end.reason == "done" for _, end in ends)
    messages = [
        f"{model.config.name}: {end.message}" if model.run.is_member else end.message
        for model, end in ends
        if end.message
    ]
    return "done" if done else "diverged", "; ".join(messages)


def combine_status(models: list[ModelTrainer]) -> Status:
    """Return the status of all models together; several models have no common accuracy."""
    first = models[0].status
    if len(models) == 1:
        return first
    active = [model for model in models if model.ended is None]
    done = [model for model in models if model.ended is not None and model.ended.reason == "done"]
    states = [model.status for model in active or done or models]
    # Progress is equal unless some models stopped early; then the longest counts.
    least = (min if active else max)(states, key=lambda status: (status.progress, status.epoch))
    speeds = [status.images_per_second for status in states]
    left = [status.seconds_left for status in states]
    return replace(
        first,
        step=least.step,
        total_steps=least.total_steps,
        progress=least.progress,
        epoch=least.epoch,
        seconds=sum(model.status.seconds for model in models),
        seconds_left=None if None in left else sum(seconds or 0.0 for seconds in left),
        # Each speed counts only that model's updates, and the times add up.
        images_per_second=len(speeds) / sum(1 / speed for speed in speeds) if all(speeds) else 0.0,
        accuracy=None,
        test_accuracy=None,
    )
