"""A hyperparameter: one field of a model or its recipe, the values that it is turned over, and from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from vitviz.config import ModelConfig, Preparation, TrainConfig, ViTConfig
from vitviz.training.races import RACES

MOST_VALUES = 6
OFF = "off"  # None, as it is written
Value = bool | int | float | str | tuple[int, ...] | tuple[str, ...] | None


@dataclass(frozen=True)
class Base:
    """The model, data and recipe that stay fixed while one hyperparameter changes."""

    model: ViTConfig
    preparation: Preparation
    train: TrainConfig


_TRAIN = TrainConfig(learning_rate=2e-3, batch_size=64, weight_decay=0.05, snapshots=4)
BASES: dict[str, Base] = {
    "digits": Base(RACES["digits"].model, RACES["digits"].preparation, replace(_TRAIN, epochs=15)),
    "shapes": Base(
        RACES["shapes"].model,
        RACES["shapes"].preparation,
        replace(_TRAIN, dataset="shapes", epochs=3, learning_rate=1e-3, validation_fraction=0.04),
    ),
    "mnist": Base(
        RACES["mnist"].model,
        RACES["mnist"].preparation,
        replace(_TRAIN, dataset="mnist", epochs=3, train_fraction=0.1, validation_fraction=0.04),
    ),
}


@dataclass(frozen=True)
class Hyperparameter:
    """One field of the model's or the recipe's config.

    Attributes:
        name: of the field.
        title: what it is called on a page.
        part: whose field it is.
        values: that the stored experiment measures, or that are offered, where they make a model of a base; its own
            among them.
        words: of values that are names; empty where they are numbers, or off.
        stored: whether the stored experiment turns it.
        said: what the literature says of it, with its source.
        shuffled: whether what its models rely on is seen where patches are shuffled.
    """

    name: str
    title: str
    part: Literal["model", "train"]
    values: tuple[Value, ...]
    words: Mapping[Any, str] = field(default_factory=dict)
    stored: bool = True
    said: str = ""
    shuffled: bool = False

    @property
    def numeric(self) -> bool:
        """True if any number may be asked for."""
        return not self.words

    def label(self, value: Value) -> str:
        """Return a value as it stands on an axis."""
        if self.words:
            return self.words[value]
        return f"{value:g}" if isinstance(value, int | float) else OFF

    def base(self, base: Base) -> Value:
        """Return where the hyperparameter stands on the base."""
        value: Value = getattr(base.model if self.part == "model" else base.train, self.name)
        return value

    def offered(self, base: Base) -> tuple[Value, ...]:
        """Return the values that make a model of this base: patches of 8 px do not divide an image of 28."""
        return tuple(value for value in self.values if self._fits(base, value))

    def _fits(self, base: Base, value: Value) -> bool:
        try:
            self.with_value(base, value)
        except ValueError:
            return False
        return True

    def with_value(self, base: Base, value: Value) -> tuple[ModelConfig, TrainConfig]:
        """Return the base's model and recipe with this one field at a value.

        Raises:
            ValueError: if there is no such model or recipe.
        """
        change: dict[str, Any] = {self.name: value}
        if self.part == "model":
            return replace(base.model, **change), base.train
        return base.model, replace(base.train, **change)

    def parse(self, text: str) -> tuple[Value, ...]:
        """Return the numbers with commas between them, as values of this hyperparameter; 'off' for one that may be off.

        Raises:
            ValueError: if it holds something else, too few values or too many.
        """
        optional = None in self.values
        kind = int if all(value is None or isinstance(value, int) for value in self.values) else float
        parts = [part.strip() for part in text.split(",") if part.strip()]
        try:
            found = tuple(dict.fromkeys(None if optional and part == OFF else kind(part) for part in parts))
        except ValueError as error:
            what = f"{'whole ' if kind is int else ''}numbers{f' or {OFF!r}' if optional else ''}"
            raise ValueError(
                f"the values of {self.title!r} must be {what} with commas between them, received {text!r}"
            ) from error
        return check_values(found)


def check_values(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values, if they are as many as one run compares.

    Raises:
        ValueError: if they are not.
    """
    if not 2 <= len(values) <= MOST_VALUES:
        raise ValueError(f"a hyperparameter is turned over 2 to {MOST_VALUES} values, received {len(values)}")
    return tuple(values)
