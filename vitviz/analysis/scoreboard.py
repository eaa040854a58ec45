"""Compare models by cost and accuracy, and find the Pareto-optimal ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from vitviz.config import ModelConfig
from vitviz.config_fields import Size
from vitviz.models import model_cost
from vitviz.models.model_cost import MOST_MILLIONS

Shape = tuple[ModelConfig, Size]  # timed: a config and the size of the image in px


@dataclass(frozen=True)
class Timing:
    """Timing of one image through a model on this machine: seconds over the repeats, and peak bytes."""

    median_s: float
    low_s: float
    high_s: float
    repeats: int
    held_bytes: int
    threads: int
    random: bool  # measured with random weights, which do not change the time


@dataclass(frozen=True)
class BoardEntry:
    """One model of the board, with where its accuracy comes from.

    Attributes:
        accuracy: in [0, 1]; None if unpublished, or without a head.
        images: how many test images the accuracy is of, where it was measured here; 0 where it is cited.
        training_images: number of distinct training images; None where unknown.
        training_s: seconds of its training here; None where it was not trained here.
        core_days: TPUv3-core-days of its pre-training, as its paper states them.
    """

    key: str
    title: str
    family: str
    config: ModelConfig
    size_px: Size
    test_set: str
    accuracy: float | None
    images: int
    source: str
    trained_on: str
    training_images: int | None = None
    training_s: float | None = None
    trained_with: str = ""
    core_days: float | None = None

    @property
    def shape(self) -> Shape:
        """The model's config, which determines its time."""
        return self.config, self.size_px

    @property
    def parameters(self) -> int:
        """Parameter count."""
        return sum(model_cost.parameters(self.config).values())

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one image."""
        return sum(model_cost.multiply_adds(self.config, self.size_px).values())

    @property
    def measured_here(self) -> bool:
        """True if the accuracy was measured by this project."""
        return self.images > 0

    @property
    def too_large(self) -> bool:
        """True if it is too large to be timed here."""
        return self.parameters > MOST_MILLIONS * 1e6

    @property
    def error(self) -> float:
        """Standard error of a measured accuracy, by its test images alone: sqrt(p (1 - p) / n); 0 where cited."""
        if self.accuracy is None or not self.images:
            return 0.0
        return float((self.accuracy * (1 - self.accuracy) / self.images) ** 0.5)


Timings = Mapping[Shape, Timing]


@dataclass(frozen=True)
class Quantity:
    """A number that models are compared by; `value` returns None where it is unknown."""

    name: str
    title: str
    unit: str
    log: bool
    more_is_better: bool
    value: Callable[[BoardEntry, Timings], float | None]


def _milliseconds(entry: BoardEntry, timings: Timings) -> float | None:
    timing = timings.get(entry.shape)
    return by_formula(entry, timings) if timing is None else 1000 * timing.median_s


def _lookup_time(entry: BoardEntry, timings: Timings) -> float | None:
    timing = timings.get(entry.shape)
    return None if timing is None else (timing.held_bytes + 4 * entry.parameters) / 1e6


def by_formula(entry: BoardEntry, timings: Timings) -> float | None:
    """Estimate the milliseconds of a model too large to run here, from its multiply-adds.

    The pace is the median of milliseconds per multiply-add over timed models of at least 0.1 billion multiply-adds;
    None without such models, and for a model that can be timed.
    """
    pace = [
        1000 * timing.median_s / adds
        for (config, side), timing in timings.items()
        if (adds := sum(model_cost.multiply_adds(config, side).values())) >= 1e8
    ]
    return median(pace) * entry.multiply_adds if pace and entry.too_large else None


QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("adds", "multiply-adds per image", "", True, False, lambda e, t: float(e.multiply_adds)),
        Quantity("parameters", "parameters", "", True, False, lambda e, t: float(e.parameters)),
        Quantity("ms", "milliseconds per image", "ms", True, False, _milliseconds),
        Quantity("memory", "peak memory with weights", "MB", True, False, _lookup_time),
        Quantity(
            "accuracy",
            "accuracy",
            "%",
            False,
            True,
            lambda e, t: None if e.accuracy is None else 100 * e.accuracy,
        ),
        Quantity("pictures", "training images", "", True, False, lambda e, t: e.training_images),
        Quantity("training", "training seconds", "s", True, False, lambda e, t: e.training_s),
    )
}


def on_one_machine(entries: Iterable[BoardEntry]) -> bool:
    """Return True if all models trained here were trained on one machine, so that their seconds are comparable."""
    return len({entry.trained_with for entry in entries if entry.training_s is not None}) < 2


def pareto(points: Sequence[tuple[float, float]], more_is_better: tuple[bool, bool]) -> list[bool]:
    """Return a mask of the Pareto-optimal points: none is at least as good in both numbers and better in one.

    Args:
        points: (x, y) each.
        more_is_better: of x and of y.
    """
    signs = [1.0 if more else -1.0 for more in more_is_better]
    scores = [(signs[0] * x, signs[1] * y) for x, y in points]
    return [not any(a[0] >= b[0] and a[1] >= b[1] and a != b for a in scores) for b in scores]


def family_of(config: ModelConfig, trained_on: str) -> str:
    """Return the family of a model: CNN, Hybrid, ViT, DeiT, Swin or Self-supervised ViT."""
    plain = "Self-supervised ViT" if "without labels" in trained_on else "ViT"
    return {"swin": "Swin", "cnn": "CNN", "hybrid": "Hybrid", "deit": "DeiT"}.get(config.family, plain)
