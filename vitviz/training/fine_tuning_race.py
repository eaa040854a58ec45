"""Train a pretrained backbone and the same model from scratch in one run, on the same images and seeds."""

from dataclasses import dataclass, replace
from typing import Literal

from vitviz.config import ModelConfig, Preparation, TrainConfig
from vitviz.config_fields import Size, check_fields, declare
from vitviz.training.run_config import Member, RunConfig, clean_name

PRESET = "fine_tuning"  # the run's name in a RunConfig
TUNED, SCRATCH = "tuned", "scratch"
TITLES = {TUNED: "Fine-tuned", SCRATCH: "From scratch"}
Body = Literal["all", "head"]


@dataclass(frozen=True)
class BackboneSource:
    """The weights that a run begins with: what they are called, their digest, and the model that they are of."""

    title: str
    digest: str
    model: ModelConfig
    preparation: Preparation


@dataclass(frozen=True)
class TargetTask:
    """The target dataset and its number of training images; `validation_fraction` is held out."""

    dataset: str
    classes: int
    images: int
    a_class: int | None = None  # so many images of each class; None: all
    validation_fraction: float = 0.1
    drawn: bool = False  # drawn digits: a backbone of digits then centres them as it did before


@dataclass(frozen=True)
class TuningMethod:
    """The fine-tuning recipe of the backbone, and the recipe from scratch.

    The lecture's rates for published weights are 1e-5 for the backbone and 1e-3 for the head; small backbones that have
    seen few images need a higher one.
    """

    body: Body = "all"  # 'head': the backbone is frozen and gives features
    image_size: Size | None = None  # None: as before
    learning_rate: float = 3e-4  # of the backbone
    head_learning_rate: float = 1e-3
    layer_decay: float = 1.0
    scratch_learning_rate: float = 1e-3
    updates: int = 100
    batch_size: int = 16
    seeds: int = declare(3, "Seeds", within="[1, 4]")  # of two models each
    flip: bool = False
    shift_px: int = declare(0, "Largest shift", within="[0, 64]")

    def __post_init__(self) -> None:
        check_fields(self)


def recipes(
    source: BackboneSource, model: ModelConfig, task: TargetTask, method: TuningMethod, seed: int
) -> dict[str, TrainConfig]:
    """Return the recipes of the fine-tuned and the scratch model for one seed; their initial weights differ.

    Args:
        model: of both, as `models.transfer.fitted` makes it.
    """
    from vitviz.models.backbone_transfer import (
        body_names,  # it needs torch, and a lesson's question only the names above
    )

    batch = min(method.batch_size, task.images)
    scratch = TrainConfig(
        dataset=task.dataset,
        a_class=task.a_class,
        validation_fraction=task.validation_fraction,
        epochs=method.updates * batch / task.images,
        batch_size=batch,
        learning_rate=method.scratch_learning_rate,
        flip=method.flip,
        shift_px=method.shift_px,
        seed=seed,
        snapshots=2,
    )
    frozen = method.body == "head"
    tuned = replace(
        scratch,
        learning_rate=method.head_learning_rate if frozen else method.learning_rate,
        head_learning_rate=None if frozen else method.head_learning_rate,
        layer_decay=1.0 if frozen else method.layer_decay,
        frozen=body_names(model) if frozen else (),
        start_from=clean_name(source.title),
        start_digest=source.digest,
    )
    return {TUNED: tuned, SCRATCH: scratch}


def race(source: BackboneSource, task: TargetTask, method: TuningMethod) -> RunConfig:
    """Return a run of a fine-tuned and a scratch model for every seed.

    Raises:
        ValueError: if source, images and method do not fit together.
    """
    from vitviz.models.backbone_transfer import fitted, fitted_preparation

    model = fitted(source.model, task.classes, method.image_size)
    preparation = fitted_preparation(source.preparation, model.image_size, task.drawn)
    by_seed = {seed: recipes(source, model, task, method, seed) for seed in range(method.seeds)}
    members = tuple(
        Member(f"{name}_{seed}", f"{TITLES[name]}, seed {seed}", model, by_seed[seed][name])
        for name in TITLES
        for seed in by_seed
    )
    name = f"{clean_name(source.title)}, fine-tuned"
    return RunConfig(model, preparation, by_seed[0][TUNED], name, PRESET, members=members)


def part_of(member: str) -> tuple[str, int]:
    """Return (key of `TITLES`, seed) of a member's name.

    Raises:
        ValueError: if it is no member of such a run.
    """
    name, _, seed = member.rpartition("_")
    if name not in TITLES or not seed.isdigit():
        raise ValueError(f"a member is called tuned_SEED or scratch_SEED, received {member!r}")
    return name, int(seed)
