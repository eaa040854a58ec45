"""What can be chosen: models and pictures, found without loading any of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pages.stores import own_weights, published, runs
from pages.stores.model_choice import ModelChoice
from vitviz.models.abilities import abilities
from vitviz.models.size import too_large
from vitviz.text import percent

if TYPE_CHECKING:
    from pages.stores.session import Visit
    from vitviz.checkpoint_header import Header

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"


def models(visit: Visit) -> Mapping[str, ModelChoice]:
    """Shipped checkpoints, runs and weights of a visit, published weights, then random presets, by key."""
    return {
        choice.key: choice
        for choice in (
            *shipped(),
            *runs.choices(visit),
            *own_weights.choices(visit),
            *_published(),
            *_presets(),
        )
    }


def shipped() -> tuple[ModelChoice, ...]:
    """The checkpoints that the project trained itself, looked at anew after a second or when the folder changed."""
    changed_ns = CHECKPOINTS.stat().st_mtime_ns if CHECKPOINTS.is_dir() else 0
    return _shipped(str(CHECKPOINTS), changed_ns, int(time.monotonic()))


@lru_cache(maxsize=2)
def _shipped(folder: str, changed_ns: int, second: int) -> tuple[ModelChoice, ...]:
    found = [
        _checkpoint(path, path.stat().st_mtime_ns) for path in sorted(Path(folder).glob("*.safetensors"))
    ]
    return tuple(choice for choice in found if choice is not None)


def _published() -> list[ModelChoice]:
    return [
        ModelChoice(
            key=f"{published.KEY}{entry.name}",
            title=entry.title,
            note=f"Published weights, trained on {entry.trained_on}.",
            config=entry.config,
            preparation=entry.preparation,
            trained_on=entry.trained_on,
            steps=(0,),
        )
        for entry in published.here()
        if not too_large(entry.config)
    ]


@lru_cache(maxsize=1)
def _presets() -> tuple[ModelChoice, ...]:
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


def header(path: Path) -> Header:
    """What a checkpoint says of itself, parsed once while the file stays as it is.

    Raises:
        vitviz.checkpoint_header.CheckpointError: if it is no checkpoint of this project.
        FileNotFoundError: if it is gone.
    """
    return _header(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _header(path: Path, modified_ns: int) -> Header:
    from vitviz.checkpoint_header import read_header

    return read_header(path)


@lru_cache(maxsize=64)
def _checkpoint(path: Path, modified_ns: int) -> ModelChoice | None:
    """None for a file that is no checkpoint of this version; `modified_ns` keys the cache."""
    try:
        header = _header(path, modified_ns)
    except (ValueError, OSError):
        return None
    card = header.card
    validated = [
        r for r in header.history if r.get("kind") == "evaluation" and r.get("split") == "validation"
    ]
    accuracy = card.get("test_accuracy")
    accuracy = float(accuracy) if isinstance(accuracy, int | float) else None
    measured = "" if accuracy is None else f", {percent(accuracy)} of its test pictures right"
    dataset = None if header.train is None else header.train.dataset
    return ModelChoice(
        key=f"checkpoint:{path.stem}",
        title=str(card.get("title", path.stem)),
        note=f"Trained on {data_title(str(dataset))}{measured}.",
        config=header.config,
        preparation=header.preparation,
        trained_on=dataset,
        steps=header.steps,
        curve=tuple((int(record["step"]), float(record["accuracy"])) for record in validated),
        path=path,
        accuracy=accuracy,
    )


def data_title(name: str) -> str:
    """What a data set is called: 'CIFAR-10' for 'cifar10'; a name that is not in the list stands for itself."""
    from vitviz.data import datasets

    return datasets.data_title(name)


def is_random(choice: ModelChoice, step: int) -> bool:
    """Whether the weights at a step are random: never trained, or the first of a training's snapshots."""
    return choice.trained_on is None or (step == 0 and choice.path is not None)


def is_own(choice: ModelChoice) -> bool:
    """Whether a model is a visitor's, and gone when they leave: a run, or weights that were opened."""
    return choice.key.startswith(("run:", own_weights.KEY))


def default_model() -> str:
    """A shipped ViT for digits, else any shipped model, else a preset with random weights."""
    digits = [c for c in shipped() if c.trained_on == "digits" and abilities(c.config).heads_over_all]
    return next(choice.key for choice in (*digits, *shipped(), *_published(), *_presets()))


def samples() -> tuple[str, ...]:
    """Names of the sample pictures."""
    from vitviz.data.samples import sample_names

    return tuple(sample_names())


def sample_title(name: str) -> str:
    """What a sample shows."""
    from vitviz.data.samples import sample

    return sample(name).title


def file_of(choice: ModelChoice, step: int) -> Path | None:
    """The file that holds the choice's weights at a step: a run has one for each; None where there is no file."""
    run = choice.key.removeprefix("run:")
    return choice.path if run == choice.key else runs.snapshot_path(run, step)


def filters(choice: ModelChoice, step: int) -> np.ndarray | None:
    """The patch embedding's filters (D, C, P, P) at a step, from the file alone; None where it has none."""
    path = file_of(choice, step)
    return None if path is None or not path.is_file() else _filters(path, path.stat().st_mtime_ns, step)


@lru_cache(maxsize=128)
def _filters(path: Path, modified_ns: int, step: int) -> np.ndarray | None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            name = f"{step}/patch_embed.proj.weight"
            if name not in file.keys():
                return None
            weights = file.get_tensor(name)
    except (SafetensorError, OSError):  # damaged, or just gone: the page that needs it says so
        return None
    square = weights.ndim == 4 and weights.shape[1] in (1, 3)
    return weights[:16].astype(np.float32) if square else None


def datasets() -> Mapping[str, str]:
    """Titles of the sets on this machine whose test pictures can be looked at, by name."""
    from vitviz.data.datasets import note_of, picture_sets

    return {name: note_of(name).title for name in picture_sets()}
