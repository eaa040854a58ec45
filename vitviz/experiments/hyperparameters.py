"""Define hyperparameters as fields of a model or recipe config, their values, and the run that varies one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from vitviz.config import SETTINGS, ModelConfig, TrainConfig
from vitviz.config_fields import OFF, Setting
from vitviz.experiments.experiment import Cell, Experiment, TrainingSetup, describe_recipe, train_cell
from vitviz.training.position_race import RACES, PositionRace
from vitviz.training.run_config import Member, RunConfig

MOST_VALUES = 7
Value = bool | int | float | str | tuple[int, ...] | tuple[str, ...] | None


_TRAIN = TrainConfig(learning_rate=2e-3, batch_size=64, weight_decay=0.05, snapshots=4)
BASES: dict[str, PositionRace] = {  # what stays fixed while one hyperparameter changes
    "digits": replace(RACES["digits"], train=replace(_TRAIN, epochs=15)),
    "shapes": replace(
        RACES["shapes"],
        train=replace(_TRAIN, dataset="shapes", epochs=3, learning_rate=1e-3, validation_fraction=0.04),
    ),
    "mnist": replace(
        RACES["mnist"],
        train=replace(_TRAIN, dataset="mnist", epochs=3, train_fraction=0.1, validation_fraction=0.04),
    ),
}


@dataclass(frozen=True)
class Hyperparameter:
    """One field of a model or recipe config.

    Attributes:
        setting: declaration of the field in its config.
        values: values of the stored experiment, or offered by default; includes that of the base.
        stored: True if the stored experiment varies it.
    """

    setting: Setting
    values: tuple[Value, ...]
    stored: bool

    @property
    def name(self) -> str:
        """Return the name of the field."""
        return self.setting.name

    @property
    def title(self) -> str:
        """Return the name on a page."""
        return self.setting.title

    @property
    def part(self) -> str:
        """Return 'model' or 'train': the config that has the field."""
        return "train" if self.setting.owner == TrainConfig.kind else "model"

    @property
    def numeric(self) -> bool:
        """True if any number can be entered."""
        return self.setting.type in (int, float)

    def label(self, value: Value) -> str:
        """Return a value's label."""
        return self.setting.format(value)

    def base(self, base: PositionRace) -> Value:
        """Return the value of the base."""
        base_value: Value = getattr(base.model if self.part == "model" else base.train, self.name)
        return base_value

    def offered(self, base: PositionRace) -> tuple[Value, ...]:
        """Return the values that are valid for this base: a patch of 8 px does not divide an image of 28 px."""
        return tuple(candidate for candidate in self.values if self._fits(base, candidate))

    def _fits(self, base: PositionRace, candidate: Value) -> bool:
        try:
            self.with_value(base, candidate)
        except ValueError:
            return False
        return True

    def with_value(self, base: PositionRace, value: Value) -> tuple[ModelConfig, TrainConfig]:
        """Return the base's model and recipe with this field set to a value.

        Raises:
            ValueError: if the model or recipe is invalid.
        """
        change: dict[str, Any] = {self.name: value}
        if self.part == "model":
            return replace(base.model, **change), base.train
        return base.model, replace(base.train, **change)

    def parse(self, text: str) -> tuple[Value, ...]:
        """Parse comma-separated numbers; 'off' is allowed if None is a value.

        Raises:
            ValueError: if a part is no number, or the count is out of range.
        """
        optional, kind = self.setting.optional, self.setting.type
        parts = [part.strip() for part in text.split(",") if part.strip()]
        try:
            values = tuple(dict.fromkeys(None if optional and part == OFF else kind(part) for part in parts))
        except ValueError as error:
            expected = f"{'whole ' if kind is int else ''}numbers{f' or {OFF!r}' if optional else ''}"
            raise ValueError(
                f"the values of {self.title!r} must be {expected}, separated by commas, received {text!r}"
            ) from error
        return check_values(values)


def check_values(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values unchanged.

    Raises:
        ValueError: if one run cannot compare as many.
    """
    if not 2 <= len(values) <= MOST_VALUES:
        raise ValueError(f"expected 2 to {MOST_VALUES} values, received {len(values)}")
    return tuple(values)


PRESET = "one_knob"  # prefix of RunConfig.preset, as in "one_knob:depth"; stored runs contain it
SEEDS = tuple(range(10))
BASE = "base"  # the cell in which no hyperparameter is changed
STORED = (  # varied in the stored experiment
    "num_heads depth patch_size embed_dim readout positions norm residual dropout drop_path activation"
    " attention_scale warmup_fraction learning_rate batch_size optimizer"
).split()
_SUBJECTS = {  # groups, in the order of the forward pass
    "Patches": "patch_size embed embed_bias stem",
    "Positions": "positions position_on_prefix",
    "Size": "depth embed_dim mlp_ratio",
    "Attention": "num_heads attention_scale head_input qkv_bias output_projection",
    "Block": "norm norm_eps final_norm residual layer_scale activation",
    "Readout": "readout num_registers softmax_output",
    "Dropout": "dropout attention_dropout drop_path",
    "Images": "train_fraction flip shift_px erase_px mixup_alpha cutmix_alpha label_smoothing",
    "Learning rate": "learning_rate warmup_fraction schedule layer_decay head_learning_rate frozen",
    "Updates": "epochs batch_size optimizer weight_decay gradient_clip ema_decay precision",
}
SUBJECT_OF = {name: subject for subject, names in _SUBJECTS.items() for name in names.split()}
_VALUES: dict[str, tuple[Value, ...]] = {  # of settings that are neither a choice nor a switch
    "num_heads": (1, 2, 4, 8, 16),
    "depth": (1, 2, 3, 4, 6),
    "patch_size": (4, 7, 8, 14, 16, 32),
    "embed_dim": (16, 32, 64, 128),
    "mlp_ratio": (0.5, 1.0, 2.0, 4.0),
    "stem": ((), (8, 16, 32), (16, 32, 64), (64, 64, 64)),
    "num_registers": (0, 1, 2, 4),
    "norm_eps": (1e-06, 0.001, 0.1, 0.9),
    "layer_scale": (None, 0.0001, 0.1, 1.0),
    "dropout": (0.0, 0.1, 0.2, 0.4),
    "attention_dropout": (0.0, 0.1, 0.2, 0.4),
    "drop_path": (0.0, 0.1, 0.3, 0.5),
    "epochs": (1.0, 3.0, 5.0, 15.0),
    "warmup_fraction": (0.0, 0.05, 0.1, 0.3),
    "learning_rate": (0.0002, 0.001, 0.002, 0.005, 0.02),
    "layer_decay": (0.5, 0.75, 0.9, 1.0),
    "head_learning_rate": (None, 0.0002, 0.02),
    "batch_size": (16, 32, 64, 128, 256),
    "weight_decay": (0.0, 0.05, 0.2, 1.0),
    "gradient_clip": (None, 0.1, 0.5, 2.0),
    "ema_decay": (None, 0.5, 0.9, 0.95),
    "frozen": ((), ("patch_embed",), ("pos_embed",), ("blocks",)),
    "label_smoothing": (0.0, 0.1, 0.3),
    "shift_px": (0, 1, 2, 4),
    "erase_px": (0, 4, 8, 12),
    "mixup_alpha": (0.0, 0.2, 0.8),
    "cutmix_alpha": (0.0, 0.5, 1.0),
    "train_fraction": (0.1, 0.25, 0.5, 1.0),
}


def _describe(name: str) -> Hyperparameter:
    setting = SETTINGS[name]
    choices = tuple(setting.options) or (True, False)
    return Hyperparameter(setting, _VALUES.get(name, choices), name in STORED)


HYPERPARAMETERS = {name: _describe(name) for name in SUBJECT_OF}


def experiment(dataset: str) -> Experiment:
    """Return the base and every stored hyperparameter at each other value, over seeds."""
    base = BASES[dataset]
    changes: list[tuple[str, Value]] = [(BASE, None)]
    changes += [
        (knob.name, candidate)
        for knob in HYPERPARAMETERS.values()
        if knob.stored
        for candidate in knob.offered(base)
        if candidate != knob.base(base)
    ]
    cells: list[Cell] = [
        {"knob": name, "value": value, "seed": seed} for name, value in changes for seed in SEEDS
    ]

    def configure(cell: Cell) -> TrainingSetup:
        if cell["knob"] == BASE:
            return TrainingSetup(base.model, base.train, base.preparation)
        return TrainingSetup(*HYPERPARAMETERS[cell["knob"]].with_value(base, cell["value"]), base.preparation)

    title, settings = "One hyperparameter at a time", describe_recipe(base.train)
    return Experiment(f"one_knob_{dataset}", title, cells, partial(train_cell, configure), settings)


def build_run_config(
    dataset: str, name: str, values: Sequence[Value], epochs: float | None = None
) -> RunConfig:
    """Return a run that trains the base model once for every value.

    Args:
        dataset: key of `BASES`.
        name: key of `HYPERPARAMETERS`.
        values: 2 to 7 values.
        epochs: None: those of the base.

    Raises:
        ValueError: if the base, hyperparameter or model does not exist, or there are too many values.
    """
    if dataset not in BASES or name not in HYPERPARAMETERS:
        raise ValueError(
            f"expected a hyperparameter of {', '.join(HYPERPARAMETERS)} and a dataset of {', '.join(BASES)},"
            f" received {name!r} and {dataset!r}"
        )
    hyperparameter, base = HYPERPARAMETERS[name], BASES[dataset]
    if epochs is not None:
        base = replace(base, train=replace(base.train, epochs=epochs))
    configs = [(candidate, *hyperparameter.with_value(base, candidate)) for candidate in check_values(values)]
    members = tuple(
        Member(f"v{place}", hyperparameter.label(candidate), model, replace(train, seed=0))
        for place, (candidate, model, train) in enumerate(configs)
    )
    title = f"One hyperparameter: {hyperparameter.title}"
    return RunConfig(
        members[0].model, base.preparation, base.train, title, f"{PRESET}:{name}", members=members
    )
