"""What can be chosen: models and pictures, found without loading any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from vitviz.config import ModelConfig, Preparation

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"


@dataclass(frozen=True)
class ModelChoice:
    """A model that can be chosen: what its file or its shape says, without its weights."""

    key: str
    title: str
    note: str  # one line: what it was trained on and how well it does, or that its weights are random
    config: ModelConfig
    preparation: Preparation
    trained_on: str | None  # a dataset's name; None: random weights
    steps: tuple[int, ...]  # of its snapshots, ascending; (0,) where there is only one
    curve: tuple[tuple[int, float], ...] = ()  # (step, validation accuracy)
    path: Path | None = None


def models() -> Mapping[str, ModelChoice]:
    """Shipped checkpoints, runs of this visit, then presets with random weights, by key."""
    found = [_checkpoint(path, path.stat().st_mtime_ns) for path in sorted(CHECKPOINTS.glob("*.safetensors"))]
    return {choice.key: choice for choice in (*[c for c in found if c is not None], *_presets())}


@lru_cache(maxsize=1)
def _presets() -> tuple[ModelChoice, ...]:
    from vitviz.models.zoo import PRESETS

    return tuple(
        ModelChoice(
            f"preset:{name}",
            preset.title,
            f"Random weights. {preset.summary}",
            preset.config,
            preset.preparation,
            None,
            (0,),
        )
        for name, preset in PRESETS.items()
    )


@lru_cache(maxsize=64)
def _checkpoint(path: Path, modified_ns: int) -> ModelChoice | None:
    """None for a file that is no checkpoint of this version; `modified_ns` keys the cache."""
    from vitviz.checkpoints import read_header

    try:
        header = read_header(path)
    except (ValueError, OSError):
        return None
    train = header.train
    return ModelChoice(
        f"checkpoint:{path.stem}",
        path.stem,
        "",
        header.config,
        header.preparation,
        None if train is None else train.dataset,
        tuple(header.steps) or (0,),
        path=path,
    )


def samples() -> tuple[str, ...]:
    """Names of the sample pictures."""
    from vitviz.data.samples import sample_names

    return tuple(sample_names())


def datasets() -> Mapping[str, str]:
    """Titles of the data sets on this machine, by name."""
    from vitviz.data.datasets import DATASETS, available_datasets

    return {name: DATASETS[name].title for name in available_datasets()}


def examples(name: str) -> int:
    """How many test pictures a data set on this machine has."""
    from pages._shared import cached

    return len(cached.dataset(name).test_images)
