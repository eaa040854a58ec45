"""List, sort and label the models, samples and datasets that can be selected, without loading them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pages.stores import own_weights, published_weights, recorded_runs, runs
from pages.stores.model_choice import ModelChoice
from vitviz.models.model_cost import too_large
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.text import percent

if TYPE_CHECKING:
    from pages.stores.session import UserSession
    from vitviz.checkpoint_header import Header
    from vitviz.models.pretrained_list import Pretrained

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
_DATASET_ORDER = (
    "cifar10",
    "cifar100",
    "mnist",
    "fashion-mnist",
    "digits",
    "shapes",
)  # of the list of models


def list_models(user: UserSession) -> Mapping[str, ModelChoice]:
    """Return checkpoints, recorded runs, the user's runs and weights, published weights and random presets by key."""
    stores = (recorded_runs, runs, own_weights) if user.has_models or recorded_runs.is_opened() else ()
    own = (choice for store in stores for choice in store.list_choices(user))
    return {choice.key: choice for choice in (*list_checkpoints(), *own, *list_published(), *list_presets())}


def list_checkpoints() -> tuple[ModelChoice, ...]:
    """Return the checkpoints that are shipped, and those in $VITVIZ_CHECKPOINTS; reread after a second or a change."""
    more = os.environ.get("VITVIZ_CHECKPOINTS")
    folders = [CHECKPOINTS, *([Path(more)] if more else [])]
    changed_ns = [folder.stat().st_mtime_ns if folder.is_dir() else 0 for folder in folders]
    second = int(time.monotonic())
    listings = (_list_checkpoints(str(f), ns, second) for f, ns in zip(folders, changed_ns, strict=True))
    return tuple(choice for choices in listings for choice in choices)


@lru_cache(maxsize=4)
def _list_checkpoints(folder: str, changed_ns: int, second: int) -> tuple[ModelChoice, ...]:
    files = (path for path in sorted(Path(folder).glob("*.safetensors")) if path.stem not in PRETRAINED)
    choices = [_read_checkpoint(path, path.stat().st_mtime_ns) for path in files]
    return tuple(choice for choice in choices if choice is not None)


def list_published() -> list[ModelChoice]:
    return [choice for entry in published_weights.list_downloaded() for choice in _describe_published(entry)]


@lru_cache(maxsize=256)
def _describe_published(entry: Pretrained) -> tuple[ModelChoice, ...]:
    """Return an entry at the image size that the app opens it with, and at its larger ones; none if it is too large."""
    if too_large(entry.config):
        return ()
    knows = f"; {entry.knows}" if entry.knows else ""
    return tuple(
        ModelChoice(
            key=f"{published_weights.KEY}{entry.name}" + ("" if side == entry.opens_at_px else f"@{side}"),
            title=entry.title if side == entry.opens_at_px else _name_size(entry, side),
            note=f"Published weights, trained on {entry.trained_on}{knows}.",
            config=replace(entry.config, image_size=side) if entry.config.kind == "vit" else entry.config,
            preparation=replace(entry.preparation, image_size=side),
            trained_on=entry.trained_on,
            steps=(0,),
        )
        for side in (entry.opens_at_px, *entry.larger_px)
    )


def _name_size(entry: Pretrained, side_px: int) -> str:
    native = f"{entry.opens_at_px} px"
    return (
        entry.title.replace(native, f"{side_px} px")
        if native in entry.title
        else f"{entry.title}, {side_px} px"
    )


@lru_cache(maxsize=1)
def list_presets() -> tuple[ModelChoice, ...]:
    from vitviz.models.presets import PRESETS

    return tuple(
        ModelChoice(
            key=f"preset:{name}",
            title=preset.title,
            note=preset.summary,
            config=preset.config,
            preparation=preset.preparation,
            trained_on=None,
            steps=(0,),
        )
        for name, preset in PRESETS.items()
        if not too_large(preset.config)
    )


def read_header(path: Path) -> Header:
    """Return a checkpoint's header, cached while the file stays unchanged.

    Raises:
        vitviz.checkpoint_header.CheckpointError: if it is not a checkpoint of this project.
        FileNotFoundError: if it is missing.
    """
    return _read_header(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read_header(path: Path, modified_ns: int) -> Header:
    from vitviz.checkpoint_header import read_header

    return read_header(path)


@lru_cache(maxsize=64)
def _read_checkpoint(path: Path, modified_ns: int) -> ModelChoice | None:
    """Return the model of a checkpoint file, or None if this version cannot read it; `modified_ns` keys the
    cache.
    """
    try:
        header = _read_header(path, modified_ns)
    except (ValueError, OSError):
        return None
    card = header.card
    validated = [
        r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"
    ]
    accuracy = card.get("test_accuracy")
    accuracy = float(accuracy) if isinstance(accuracy, int | float) else None
    measured = "" if accuracy is None else f", {percent(accuracy)} test accuracy"
    dataset = header.card.get("trained_on") if header.train is None else header.train.dataset
    return ModelChoice(
        key=f"checkpoint:{path.stem}",
        title=str(card.get("title", path.stem)),
        note=f"Trained on {get_dataset_title(str(dataset))}{measured}.",
        config=header.config,
        preparation=header.preparation,
        trained_on=dataset,
        steps=header.steps,
        curve=tuple((int(record["step"]), float(record["accuracy"])) for record in validated),
        path=path,
        accuracy=accuracy,
    )


def get_dataset_title(name: str) -> str:
    """Return a dataset's title, such as 'CIFAR-10' for 'cifar10', or the name itself if it is unknown."""
    from vitviz.data import datasets

    return datasets.data_title(name)


def is_random(choice: ModelChoice, step: int) -> bool:
    """Return True if the weights at a step are random: an untrained model, or a training's first snapshot."""
    is_start = step == 0 and choice.path is not None and not recorded_runs.is_recorded(choice)
    return choice.trained_on is None or is_start


def is_private(choice: ModelChoice) -> bool:
    """Return True for a user's run, recorded run or own weights."""
    return choice.key.startswith(("run:", recorded_runs.KEY, own_weights.KEY))


def list_samples() -> tuple[str, ...]:
    from vitviz.data.samples import sample_names

    return tuple(sample_names())


def find_weights_file(choice: ModelChoice, step: int) -> Path | None:
    """Return the file with the weights at a step, or None; a run has one file for each step."""
    if recorded_runs.is_recorded(choice):
        return recorded_runs.find_weights(choice.key, step)
    run = choice.key.removeprefix("run:")
    return choice.path if run == choice.key else runs.get_snapshot_path(run, step)


def list_datasets() -> Mapping[str, str]:
    """Return titles of the available datasets with test images, by name."""
    from vitviz.data.datasets import find_note, picture_sets

    return {name: find_note(name).title for name in picture_sets()}


def sort_models(choices: Iterable[ModelChoice]) -> list[str]:
    """Return keys: runs, own weights, ImageNet models, checkpoints by dataset, then untrained presets."""
    return [choice.key for choice in sorted(choices, key=_rank_model)]


def label_model(choice: ModelChoice) -> str:
    """Return a label such as 'CIFAR-10 · Hybrid, 85.8 %', with the accuracy of the last step."""
    accuracy = "" if choice.accuracy is None else f", {percent(choice.accuracy)}"
    kind = choice.key.partition(":")[0]
    if kind == "run":
        dataset = f" ({get_dataset_title(choice.trained_on)})" if choice.trained_on else ""
        return f"Run · {choice.title}{dataset}{accuracy}"
    if recorded_runs.is_recorded(choice):
        return f"Recorded · {choice.title}"
    if choice.key.startswith(own_weights.KEY):
        return f"Your weights · {f'{choice.file_name}: ' if choice.file_name else ''}{choice.title}"
    if choice.key.startswith(published_weights.KEY):
        return f"Photos · {choice.title}"
    if choice.trained_on is None:
        return f"Untrained · {choice.title}"
    dataset = get_dataset_title(choice.trained_on)
    name = choice.title.removeprefix(dataset).strip()
    return f"{dataset[:1].upper()}{dataset[1:]} · {name[:1].upper()}{name[1:]}{accuracy}"


def _rank_model(choice: ModelChoice) -> tuple[int, int]:
    prefixes = ("run:", recorded_runs.KEY, own_weights.KEY, published_weights.KEY)
    for rank, prefix in enumerate(prefixes):
        if choice.key.startswith(prefix):
            return rank, 0
    if choice.trained_on is None:
        return len(prefixes) + 1, 0
    order = (*_DATASET_ORDER, choice.trained_on)
    return len(prefixes), order.index(choice.trained_on)
