"""Define the bugs of the lecture's code, each compared with the model without it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from vitviz.config import ModelConfig, SwinConfig, TrainConfig, ViTConfig
from vitviz.experiments.experiment import Cell, Experiment, TrainingSetup, describe_recipe, train_cell
from vitviz.experiments.hyperparameters import BASES
from vitviz.training.position_race import PositionRace
from vitviz.training.run_config import Member, RunConfig

PRESET = "one_slip"  # prefix of RunConfig.preset, as in "one_slip:scale"; stored runs contain it
FIXED = "mended"
DROPOUT = 0.1  # the bug of a missing model.train() needs dropout to have an effect
SEEDS = dict.fromkeys(("digits", "shapes"), tuple(range(10)))
LIVE_SEEDS = (0, 1, 2)
# Six Swins trained for the stored epochs take 95 to 150 s; the difference on shapes shows after 40 % of them.
LIVE_SHARE = {"vit": 1.0, "swin": 0.4}  # of the stored epochs


@dataclass(frozen=True)
class Bug:
    """One bug of the lecture's code.

    Attributes:
        title: short name.
        where: where it occurs.
        why: effect, in one sentence.
        lines: lines of code that contain it.
        wrong: indices of accepted lines, from 0; the first is the line to change.
        right: corrected line; empty if the line must be deleted.
        model, train: config fields that the bug changes.
        family: model family that can have it.
    """

    title: str
    where: str
    why: str
    lines: tuple[str, ...]
    wrong: tuple[int, ...]
    right: str
    model: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    family: Literal["vit", "swin"] = "vit"


def _freeze(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(setting) if isinstance(setting, list) else setting for name, setting in entry.items()}


BUGS = {
    name: Bug(
        **_freeze(entry)
        | {"lines": tuple(entry["lines"].splitlines()), "train": _freeze(entry.get("train", {}))}
    )
    for name, entry in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
_SWIN = SwinConfig(patch_size=4, window_size=2, embed_dim=32, depths=(2, 2), num_heads=(2, 4), mlp_ratio=2.0)


def configure_fixed(dataset: str, family: str = "vit") -> tuple[ModelConfig, TrainConfig]:
    """Return the model without a bug and its recipe: the base with dropout, or a Swin.

    Raises:
        ValueError: if there is no base for this dataset.
    """
    if dataset not in SEEDS:
        raise ValueError(f"dataset must be one of {', '.join(SEEDS)}, received {dataset!r}")
    base = BASES[dataset]
    if family == "swin":
        shape: ViTConfig = base.model
        return replace(
            _SWIN, in_chans=shape.in_chans, num_classes=shape.num_classes, dropout=DROPOUT
        ), base.train
    return replace(base.model, dropout=DROPOUT), base.train


def configure_with_bug(dataset: str, name: str) -> tuple[ModelConfig, TrainConfig]:
    """Return the model with one bug and its recipe.

    Raises:
        ValueError: if the bug or dataset is unknown.
    """
    if name not in BUGS:
        raise ValueError(f"bug must be one of {', '.join(BUGS)}, received {name!r}")
    bug = BUGS[name]
    model, train = configure_fixed(dataset, bug.family)
    changed: dict[str, Any] = dict(bug.model)
    return replace(model, **changed), replace(train, **bug.train)


def experiment(dataset: str) -> Experiment:
    """Return every bug and the fixed model of its family, over seeds."""
    families = {family: [name for name in BUGS if BUGS[name].family == family] for family in ("vit", "swin")}
    kinds = [(family, name) for family, names in families.items() for name in (FIXED, *names)]
    cells: list[Cell] = [
        {"slip": name, "family": family, "seed": seed} for family, name in kinds for seed in SEEDS[dataset]
    ]

    def configure(cell: Cell) -> TrainingSetup:
        fixed = cell["slip"] == FIXED
        configs = (
            configure_fixed(dataset, cell["family"]) if fixed else configure_with_bug(dataset, cell["slip"])
        )
        return TrainingSetup(*configs, BASES[dataset].preparation)

    title, settings = "One bug at a time", describe_recipe(BASES[dataset].train)
    return Experiment(f"one_slip_{dataset}", title, cells, partial(train_cell, configure), settings)


def build_run_config(dataset: str, name: str) -> RunConfig:
    """Return a run that trains the fixed model and the one with the bug, with three seeds each.

    Raises:
        ValueError: if the bug or dataset is unknown.
    """
    family = BUGS[name].family
    (wrong, bug_train), (right, train) = configure_with_bug(dataset, name), configure_fixed(dataset, family)
    epochs = round(LIVE_SHARE[family] * (train.epochs or 0.0), 2)
    bug_train, train = (replace(recipe, epochs=epochs) for recipe in (bug_train, train))
    members = tuple(
        Member(f"{kind}{seed}", title, model, replace(recipe, seed=seed))
        for kind, title, model, recipe in (
            ("mended", "Without the bug", right, train),
            ("slip", "With the bug", wrong, bug_train),
        )
        for seed in LIVE_SEEDS
    )
    base: PositionRace = BASES[dataset]
    title = f"One bug: {BUGS[name].title}"
    return RunConfig(right, base.preparation, train, title, f"{PRESET}:{name}", members=members)
