"""Hold the config of a run, and convert it to and from config.json."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from vitviz.config import ModelConfig, Preparation, TrainConfig, config_of, model_from_dict, to_dict
from vitviz.config_models import averages_batches
from vitviz.training.run_size import check_run

MOST_MEMBERS = 8
MEMBER_NAME = r"[a-z0-9][a-z0-9_]{0,31}"


@dataclass(frozen=True)
class Member:
    """One model of an experiment; `train` overrides the shared recipe."""

    name: str  # of its directory
    title: str
    model: ModelConfig
    train: TrainConfig | None = None  # None: the run's


@dataclass(frozen=True)
class RunConfig:
    """The models, data and recipe of a run; written once, when the run is created.

    Raises:
        ValueError: if the members of an experiment do not fit together, or it is more than `limits` allow.
    """

    model: ModelConfig
    preparation: Preparation
    train: TrainConfig
    name: str = "run"
    preset: str | None = None
    owner: str = ""
    lease_s: float | None = None  # stops when nobody has watched for so long; None: never
    created: float = 0.0  # seconds since 1970
    commit: str = ""  # of the code that trains it, where a shell started it
    members: tuple[Member, ...] = ()  # of an experiment; `model` is then the first's

    def __post_init__(self) -> None:
        if self.members:
            _check_members(self)
        parts = [(member.model, self.recipe(member)) for member in self.members]
        check_run(parts or [(self.model, self.train)])

    def recipe(self, member: Member) -> TrainConfig:
        """Return how one model of this experiment is trained."""
        return member.train or self.train

    @property
    def longest(self) -> float | None:
        """Epochs of the model that is trained longest; None where the run is counted in seconds."""
        lengths = [self.recipe(member).epochs for member in self.members] or [self.train.epochs]
        return max((length for length in lengths if length is not None), default=None)

    @property
    def equally_long(self) -> bool:
        """True if all models make the same number of updates and epochs."""
        recipes = [self.recipe(member) for member in self.members]
        lengths = {(r.epochs, r.seconds, r.batch_size, r.train_fraction, r.a_class) for r in recipes}
        return len(lengths) < 2

    @property
    def has_one_rate(self) -> bool:
        """True if all models train with the same learning rates and weight decay, so that one change applies to all."""
        recipes = [self.recipe(member) for member in self.members]
        rates = {
            (r.learning_rate, r.head_learning_rate, r.layer_decay, r.weight_decay, r.frozen) for r in recipes
        }
        return len(rates) < 2

    def on_threads(self, free: int) -> RunConfig:
        """Return the config with a fixed thread count: `free` if it requests all and its models can split batches.

        Models with batch norm cannot split batches and get one thread: threads inside operations wait for each other,
        and on busy cores a step took sixteen times as long (measured at load 11).
        """
        if self.train.threads:
            return self
        models = [member.model for member in self.members] or [self.model]
        free = 1 if any(map(averages_batches, models)) else free
        given = [replace(m, train=m.train and replace(m.train, threads=free)) for m in self.members]
        return replace(self, train=replace(self.train, threads=free), members=tuple(given))

    def for_member(self, member: Member) -> RunConfig:
        """Return the config of one model of this experiment."""
        return replace(self, model=member.model, train=self.recipe(member), name=member.title, members=())


def clean_name(name: str) -> str:
    """Return a name to show: printable, without line breaks, at most 80 characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())[:80] or "run"


def config_from_values(values: dict[str, Any]) -> RunConfig:
    """Return the RunConfig of config.json's object.

    Raises:
        KeyError, TypeError, ValueError: if it is invalid.
    """
    lease = values.get("lease_s")
    return RunConfig(
        model=model_from_dict(values["model"]),
        preparation=config_of(Preparation, values["preparation"]),
        train=config_of(TrainConfig, values["train"]),
        name=clean_name(values.get("name", "run")),
        preset=None if values.get("preset") is None else str(values["preset"])[:80],
        owner=str(values.get("owner", "")),
        lease_s=None if lease is None else float(lease),
        created=float(values.get("created", 0.0)),
        commit=str(values.get("commit", ""))[:80],
        members=tuple(_member(entry) for entry in values.get("members", ())),
    )


def _member(values: dict[str, Any]) -> Member:
    train = None if values.get("train") is None else config_of(TrainConfig, values["train"])
    return Member(str(values["name"]), clean_name(values["title"]), model_from_dict(values["model"]), train)


def _check_members(config: RunConfig) -> None:
    names = [member.name for member in config.members]
    if not 2 <= len(names) <= MOST_MEMBERS or len({*names}) < len(names):
        raise ValueError(
            f"an experiment has 2 to {MOST_MEMBERS} members of different names, received {names}"
        )
    if not all(re.fullmatch(MEMBER_NAME, name) for name in names):
        raise ValueError(f"a member's name is of letters, digits and underscores, received {names}")
    if config.model != config.members[0].model:
        raise ValueError("an experiment's model is its first member's")
    for member in config.members:
        _check_recipe(config, member)


def _check_recipe(config: RunConfig, member: Member) -> None:
    train = config.recipe(member)
    if train.epochs is None:
        raise ValueError("an experiment is counted in epochs, so that its models are always equally far")
    for name in ("dataset", "validation_fraction", "threads"):  # one set of held-out images, one process
        shared, own_setting = getattr(config.train, name), getattr(train, name)
        if own_setting != shared:
            raise ValueError(
                f"the members of an experiment share {name} {shared!r}, received {own_setting!r} for {member.name}"
            )


def config_to_values(config: RunConfig) -> dict[str, Any]:
    """Return the object of config.json: what `config_from_values` reads."""
    values = {
        name: getattr(config, name) for name in ("name", "preset", "owner", "lease_s", "created", "commit")
    }
    parts = {name: to_dict(getattr(config, name)) for name in ("model", "preparation", "train")}
    if config.members:
        values["members"] = [_values_of_member(member) for member in config.members]
    return {**values, **parts}


def _values_of_member(member: Member) -> dict[str, Any]:
    own_values = {} if member.train is None else {"train": to_dict(member.train)}
    return {"name": member.name, "title": member.title, "model": to_dict(member.model), **own_values}
