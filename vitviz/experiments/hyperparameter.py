"""Describe one hyperparameter: a field of a model or recipe config, its values and the base model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from vitviz.config import ModelConfig, TrainConfig
from vitviz.config_fields import OFF, Setting
from vitviz.training.position_race import RACES, Race

MOST_VALUES = 7
Value = bool | int | float | str | tuple[int, ...] | tuple[str, ...] | None


_TRAIN = TrainConfig(learning_rate=2e-3, batch_size=64, weight_decay=0.05, snapshots=4)
BASES: dict[str, Race] = {  # what stays fixed while one hyperparameter changes
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

    @property
    def shuffled(self) -> bool:
        """True if accuracy on shuffled patches is informative."""
        return self.name == "positions"

    def label(self, value: Value) -> str:
        """Return a value's label."""
        return self.setting.format(value)

    def base(self, base: Race) -> Value:
        """Return the value of the base."""
        base_value: Value = getattr(base.model if self.part == "model" else base.train, self.name)
        return base_value

    def offered(self, base: Race) -> tuple[Value, ...]:
        """Return the values that are valid for this base: a patch of 8 px does not divide an image of 28 px."""
        return tuple(candidate for candidate in self.values if self._fits(base, candidate))

    def _fits(self, base: Race, candidate: Value) -> bool:
        try:
            self.with_value(base, candidate)
        except ValueError:
            return False
        return True

    def with_value(self, base: Race, value: Value) -> tuple[ModelConfig, TrainConfig]:
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
