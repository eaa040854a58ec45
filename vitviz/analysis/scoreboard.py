"""Models side by side: what each costs and how well it does, and which of them nothing beats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from vitviz.config import ModelConfig
from vitviz.models import parameter_count
from vitviz.models.size import MOST_MILLIONS

FAMILIES = ("CNN", "Hybrid", "ViT", "DeiT", "Swin", "Self-supervised ViT")
Shape = tuple[ModelConfig, int]  # what is timed: a config, and the side of the image in px


@dataclass(frozen=True)
class Timing:
    """One image through a model on this machine: seconds of the repeats, and the most bytes held beyond the input."""

    median_s: float
    low_s: float
    high_s: float
    repeats: int
    held_bytes: int
    threads: int
    random: bool  # the weights were random: time does not depend on them


@dataclass(frozen=True)
class Entry:
    """One model of the board, with where its accuracy comes from.

    Attributes:
        test_set: on which the accuracy was taken.
        accuracy: in [0, 1]; None where nobody has stated one, or there is no head.
        images: how many test images the accuracy is of, where it was measured here; 0 where it is cited.
        source: who measured the accuracy, and on what weights.
        trained_on: the images that it learned from.
        training_pictures: how many of them are different; None where unknown.
        training_s: seconds of its training here; None where it was not trained here.
        trained_with: on what machine that was.
        core_days: TPUv3-core-days of its pre-training, as its paper states them.
    """

    key: str
    title: str
    family: str
    config: ModelConfig
    side_px: int
    test_set: str
    accuracy: float | None
    pictures: int
    source: str
    trained_on: str
    training_pictures: int | None = None
    training_s: float | None = None
    trained_with: str = ""
    core_days: float | None = None

    @property
    def shape(self) -> Shape:
        """The model's config, which determines its time."""
        return self.config, self.side_px

    @property
    def parameters(self) -> int:
        """All of them."""
        return sum(parameter_count.parameters(self.config).values())

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one image."""
        return sum(parameter_count.multiply_adds(self.config, self.side_px).values())

    @property
    def measured_here(self) -> bool:
        """True if the accuracy was measured by this project."""
        return self.pictures > 0

    @property
    def too_large(self) -> bool:
        """True if it is shown by formula and citation alone."""
        return self.parameters > MOST_MILLIONS * 1e6

    @property
    def error(self) -> float:
        """Standard error of a measured accuracy, by its test images alone: sqrt(p (1 - p) / n); 0 where cited."""
        if self.accuracy is None or not self.pictures:
            return 0.0
        return float((self.accuracy * (1 - self.accuracy) / self.pictures) ** 0.5)


Timings = Mapping[Shape, Timing]


@dataclass(frozen=True)
class Quantity:
    """Something that every model has a number of; `value` gives None where it is not known."""

    name: str
    title: str
    unit: str
    log: bool
    more_is_better: bool
    value: Callable[[Entry, Timings], float | None]


def _milliseconds(entry: Entry, timings: Timings) -> float | None:
    found = timings.get(entry.shape)
    return by_formula(entry, timings) if found is None else 1000 * found.median_s


def _lookup_time(entry: Entry, timings: Timings) -> float | None:
    found = timings.get(entry.shape)
    return None if found is None else (found.held_bytes + 4 * entry.parameters) / 1e6


def by_formula(entry: Entry, timings: Timings) -> float | None:
    """Milliseconds of a model that is too large to run here: its multiply-adds at the pace measured of others.

    The pace is the median of milliseconds per multiply-add over what was measured of at least a tenth of a billion;
    None where that is nothing, and for a model that can be measured.
    """
    pace = [
        1000 * found.median_s / adds
        for (config, side), found in timings.items()
        if (adds := sum(parameter_count.multiply_adds(config, side).values())) >= 1e8
    ]
    return median(pace) * entry.multiply_adds if pace and entry.too_large else None


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("adds", "multiply-adds of an image", "", True, False, lambda e, t: float(e.multiply_adds)),
        Quantity("parameters", "parameters", "", True, False, lambda e, t: float(e.parameters)),
        Quantity("ms", "milliseconds an image here", "ms", True, False, _milliseconds),
        Quantity("memory", "memory held here, weights included", "MB", True, False, _lookup_time),
        Quantity(
            "accuracy",
            "accuracy",
            "%",
            False,
            True,
            lambda e, t: None if e.accuracy is None else 100 * e.accuracy,
        ),
        Quantity("pictures", "training images", "", True, False, lambda e, t: e.training_pictures),
        Quantity("training", "seconds of training here", "s", True, False, lambda e, t: e.training_s),
    )
}


def on_one_machine(entries: Iterable[Entry]) -> bool:
    """Return True if those that were trained here were trained on one machine, so that their seconds compare."""
    return len({entry.trained_with for entry in entries if entry.training_s is not None}) < 2


def pareto(points: Sequence[tuple[float, float]], more_is_better: tuple[bool, bool]) -> list[bool]:
    """Return which points nothing beats: no other is at least as good in both numbers and better in one (Pareto).

    Args:
        points: (x, y) each.
        more_is_better: of x and of y.
    """
    signs = [1.0 if more else -1.0 for more in more_is_better]
    worth = [(signs[0] * x, signs[1] * y) for x, y in points]
    return [not any(_beats(other, own) for other in worth) for own in worth]


def _beats(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return a[0] >= b[0] and a[1] >= b[1] and a != b


def family_of(config: ModelConfig, trained_on: str) -> str:
    """Return which of `FAMILIES` a model belongs to."""
    plain = "Self-supervised ViT" if "without labels" in trained_on else "ViT"
    return {"swin": "Swin", "cnn": "CNN", "hybrid": "Hybrid", "deit": "DeiT"}.get(config.family, plain)


def ordered(entries: Sequence[Entry], by: str, down: bool, timings: Timings) -> list[Entry]:
    """Return the sorted by a quantity of `QUANTITIES`, or by 'title'; what has no number stands last, either way."""
    if by == "title":
        return sorted(entries, key=lambda e: e.title, reverse=down)
    value = QUANTITIES[by].value
    known = [e for e in entries if value(e, timings) is not None]
    known.sort(key=lambda e: value(e, timings) or 0.0, reverse=down)
    return known + [e for e in entries if value(e, timings) is None]
