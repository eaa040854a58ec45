"""Compare models trained side by side, on images and on images with shuffled patches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import compare
from vitviz.text import join_words, percent, percent_difference

# Summed 2-D positions are the same for (row, column) and (column, row), so a model cannot tell an image from its
# transpose, which swaps these classes.
SWAPPED = {"left": "above", "above": "left", "right": "below", "below": "right"}
SUMMED = "sincos_2d_sum"
PIXELS = "pixels"  # an embedding of the patch content, which carries no position
HALF = 0.06  # largest distance from one half
MOSTLY = 0.8  # share of the mistakes that one explanation must cover
CHANGED = 0.02  # smaller differences are not reported
CLEARLY = 0.1
LEARNED = 0.1  # above chance, before the effect of positions is described
_LITTLE = f"less than {100 * CHANGED:.0f} points"


@dataclass(frozen=True)
class Measured:
    """Accuracy of one model at one moment, on whole images and with shuffled patches."""

    split: str  # validation or test
    epoch: float
    accuracy: float
    shuffled: float
    images: int
    confusion: list[list[int]]  # [true][predicted], whole images


@dataclass(frozen=True, eq=False)
class Racer:
    """One model of a race: `curve` (2, n) holds epochs and validation accuracy, ascending.

    `measured` is the measurement compared with other models, `earlier` are all before it.
    """

    name: str
    title: str
    curve: NDArray[np.float64]
    measured: Measured | None
    earlier: tuple[Measured, ...] = ()
    family: str = "vit"

    @property
    def validated(self) -> list[Measured]:
        """Its measurements on validation images, ascending."""
        measurements = [*self.earlier, *([self.measured] if self.measured else [])]
        return [measured for measured in measurements if measured.split == "validation"]

    @property
    def is_finished(self) -> bool:
        """True if it was measured on the test images."""
        return self.measured is not None and self.measured.split == "test"


def create_racer(
    name: str,
    title: str,
    validated: NDArray[np.float64],
    shuffled: Sequence[Mapping[str, Any]],
    family: str = "vit",
) -> Racer:
    """Return one model of a race from its records.

    Args:
        validated: (2, n) epochs and validation accuracy.
        shuffled: its records of kind 'shuffled', in order; incomplete ones are skipped.
    """
    measurements = [measured for measured in map(_read_measurement, shuffled) if measured is not None]
    points = {m.epoch: m.accuracy for m in measurements if m.split == "validation"}
    points |= {float(epoch): float(accuracy) for epoch, accuracy in validated.T}
    curve = np.array(sorted(points.items()), np.float64).reshape(-1, 2).T
    return Racer(
        name, title, curve, measurements[-1] if measurements else None, tuple(measurements[:-1]), family
    )


def _read_measurement(record: Mapping[str, Any]) -> Measured | None:
    try:
        counts = np.asarray(record["confusion"], np.int64)
        made = Measured(
            str(record["split"]),
            float(record["epoch"]),
            float(record["accuracy"]),
            float(record["shuffled"]),
            int(record["images"]),
            counts.tolist(),
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return made if counts.ndim == 2 and counts.shape[0] == counts.shape[1] else None


def align_racers(racers: Sequence[Racer]) -> list[Racer]:
    """Return the measured racers, each at the moment at which it is compared with the others.

    Finished races are compared at each racer's end. Before, racers measured at the same epochs are compared at the
    last common one, and others, such as models with separate snapshots, each at its latest.
    """
    if all(racer.is_finished for racer in racers):
        return list(racers)
    lists = [racer.validated for racer in racers if not racer.is_finished and racer.validated]
    least = min(map(len, lists), default=0)
    in_step = len({tuple(m.epoch for m in evaluations[:least]) for evaluations in lists}) == 1
    return [
        replace(racer, measured=evaluations[least - 1 if in_step and not racer.is_finished else -1])
        for racer in racers
        if (evaluations := racer.validated)
    ]


def measured_span(racers: Sequence[Racer]) -> tuple[float, float]:
    """Return the first and the last epoch of the measurements; equal unless the models end at different epochs."""
    epochs = [_measurement_of(racer).epoch for racer in racers]
    return min(epochs), max(epochs)


def describe_race(racers: Sequence[Racer], classes: Sequence[str]) -> str:
    """Describe a race: accuracies, effect of positions, and effect of shuffled patches; '' before a measurement."""
    measured = align_racers(racers)
    if not measured:
        return ""
    first = _measurement_of(measured[0])
    listed = ", ".join(f"{r.title} {percent(_measurement_of(r).accuracy)}" for r in measured)
    sentences = [
        f"{first.split.capitalize()} accuracy after {format_epochs(*measured_span(measured))}"
        f" ({first.images:,} images): {listed}; chance {percent(1 / len(classes), 0)}.",
        describe_summed_positions(measured, classes),
        _describe_no_positions(measured, 1 / len(classes)),
        describe_shuffling(measured),
    ]
    return " ".join(filter(None, sentences))


def format_epochs(*epochs: float) -> str:
    """Format a count or a span, as '0.07 epochs', '1 epoch' or '2.5 to 6 epochs'."""
    ends = dict.fromkeys(f"{epoch:.2f}".rstrip("0").rstrip(".") for epoch in epochs)
    text = " to ".join(ends)
    return f"{text} epoch" if text == "1" else f"{text} epochs"


def _measurement_of(racer: Racer) -> Measured:
    if racer.measured is None:
        raise ValueError(f"{racer.title} has not been measured")
    return racer.measured


def describe_summed_positions(racers: Sequence[Racer], classes: Sequence[str]) -> str:
    """Describe the mistakes of summed positions, if most of them swap rows and columns."""
    summed = next((r for r in racers if r.name == SUMMED), None)
    if summed is None or not explains_half(_measurement_of(summed), classes):
        return ""
    swapped = percent(swapped_share(_measurement_of(summed), classes), 0)
    return (
        f"**{summed.title}** confuses left with above and right with below in {swapped} of its mistakes: the sum"
        " PE(row) + PE(column) is the same for (column, row)."
    )


def explains_half(measured: Measured, classes: Sequence[str]) -> bool:
    """Return True if accuracy is about one half and most mistakes swap a class with its transpose."""
    near = abs(measured.accuracy - 0.5) <= HALF
    return near and set(classes) == set(SWAPPED) and swapped_share(measured, classes) >= MOSTLY


def swapped_share(measured: Measured, classes: Sequence[str]) -> float:
    """Return the share of mistakes that swap left with above or right with below; 0 without mistakes."""
    counts = np.array(measured.confusion)
    if counts.shape != (len(classes), len(classes)):
        return 0.0
    wrong = counts.sum() - counts.trace()
    swapped = sum(
        counts[i, classes.index(SWAPPED[name])] for i, name in enumerate(classes) if name in SWAPPED
    )
    return float(swapped / wrong) if wrong else 0.0


def _describe_no_positions(racers: Sequence[Racer], chance: float) -> str:
    """Describe the gain from positions over the model without any, unless all models are near chance."""
    none = next((r for r in racers if r.name == "none"), None)
    others = [r for r in racers if r.name not in ("none", PIXELS)]
    if none is None or not others:
        return ""
    best = max(others, key=lambda r: _measurement_of(r).accuracy)
    names = join_words(
        [r.title for r in others if _measurement_of(r).accuracy == _measurement_of(best).accuracy]
    )
    gain = percent_difference(_measurement_of(best).accuracy, _measurement_of(none).accuracy) / 100
    so_far = "" if all(r.is_finished for r in racers) else " so far"
    if max(_measurement_of(best).accuracy, _measurement_of(none).accuracy) < chance + LEARNED:
        return "All models are close to chance so far, with and without positions."
    with_best, without = _measurement_of(best), _measurement_of(none)
    verdict = compare({0: with_best.accuracy}, {0: without.accuracy}, images=without.images)
    certainty = f"no verdict: {verdict.certainty}"
    if gain >= CHANGED:
        return f"Positions add {100 * gain:.1f} points ({names} over {none.title}; {certainty})."
    if gain <= -CHANGED:
        return (
            f"Positions do not help{so_far}: accuracy with {names} is {-100 * gain:.1f} points below that of"
            f" {none.title} ({certainty})."
        )
    return f"Positions change accuracy by {_LITTLE}{so_far}."


def describe_shuffling(racers: Sequence[Racer]) -> str:
    """Describe which models lose accuracy on images with shuffled patches."""
    lost = [(r, _measurement_of(r).accuracy - _measurement_of(r).shuffled) for r in racers]
    most, loss = max(lost, key=lambda loss_entry: loss_entry[1])
    falls = loss >= CLEARLY
    parts = []
    if falls:
        ends = f"from {percent(_measurement_of(most).accuracy)} to {percent(_measurement_of(most).shuffled)}"
        parts.append(f"{most.title} drops {ends}, so it relies on patch positions")
    others = [
        f"{r.title} {'loses' if loss > 0 else 'gains'} {abs(100 * loss):.1f} points"
        for r, loss in lost
        if abs(loss) >= CHANGED and not (falls and r is most)
    ]
    if others:
        parts.append(", ".join(others))
    same = [r.title for r, loss in lost if abs(loss) < CHANGED]
    if same:
        parts.append(f"{', '.join(same)}: a change of {_LITTLE}")
    return f"With shuffled patches: {'; '.join(parts)}."
