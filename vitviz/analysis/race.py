"""Models trained side by side: curves, accuracy on whole and on shuffled images, and what the numbers say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import join_words, percent, percent_difference

# 2-D summed positions are the same for (row, column) and (column, row): an image and the one whose patches are
# exchanged across the diagonal look alike, and so do the answers that this swaps.
SWAPPED = {"left": "above", "above": "left", "right": "below", "below": "right"}
SUMMED = "sincos_2d_sum"
PIXELS = "pixels"  # a map of what a patch shows says nothing of where it lies
HALF = 0.06  # how far from one half an accuracy may lie to be called that
MOSTLY = 0.8  # share of the mistakes that one explanation must cover
CHANGED = 0.02  # accuracies that lie closer are called equal
CLEARLY = 0.1
LEARNED = 0.1  # above guessing: what a model must have before its positions are spoken of
_LITTLE = f"less than {100 * CHANGED:.0f} points"


@dataclass(frozen=True)
class Measured:
    """One model on the same images, whole and with shuffled patches, at one moment."""

    split: str  # validation or test
    epoch: float
    accuracy: float
    shuffled: float
    images: int
    confusion: list[list[int]]  # [true][predicted], whole images


@dataclass(frozen=True, eq=False)
class Racer:
    """One model of a race: `curve` (2, n) holds epochs and validation accuracy, ascending.

    `measured` is what it is compared by, `earlier` all measurements before it.
    """

    name: str
    title: str
    curve: NDArray[np.float64]
    measured: Measured | None
    earlier: tuple[Measured, ...] = ()

    @property
    def validated(self) -> list[Measured]:
        """Its measurements on validation images, ascending."""
        every = [*self.earlier, *([self.measured] if self.measured else [])]
        return [measured for measured in every if measured.split == "validation"]

    @property
    def ended(self) -> bool:
        """True if its test images were read."""
        return self.measured is not None and self.measured.split == "test"


def racer(
    name: str, title: str, validated: NDArray[np.float64], shuffled: Sequence[Mapping[str, Any]]
) -> Racer:
    """Return one model of a race from its records.

    Args:
        name, title: the member's.
        validated: (2, n) epochs and validation accuracy.
        shuffled: its records of kind 'shuffled', in order; one that is not whole is left out.
    """
    found = [measured for measured in map(_read_measurement, shuffled) if measured is not None]
    points = {m.epoch: m.accuracy for m in found if m.split == "validation"}
    points |= {float(epoch): float(accuracy) for epoch, accuracy in validated.T}
    curve = np.array(sorted(points.items()), np.float64).reshape(-1, 2).T
    return Racer(name, title, curve, found[-1] if found else None, tuple(found[:-1]))


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


def averaged(seeds: Sequence[Racer]) -> Racer:
    """Return one model trained with several seeds as one racer: the means of what all of them were asked."""
    found = [(*racer.earlier, *([racer.measured] if racer.measured else [])) for racer in seeds]
    means = [_mean(moment) for moment in zip(*found, strict=False)]
    points = min(racer.curve.shape[1] for racer in seeds)
    curve = np.mean([racer.curve[:, :points] for racer in seeds], axis=0)
    return Racer(seeds[0].name, seeds[0].title, curve, means[-1] if means else None, tuple(means[:-1]))


def _mean(moment: Sequence[Measured]) -> Measured:
    """Return the same images asked of several seeds: mean accuracies, and all their answers."""
    return replace(
        moment[0],
        accuracy=float(np.mean([measured.accuracy for measured in moment])),
        shuffled=float(np.mean([measured.shuffled for measured in moment])),
        confusion=np.sum([measured.confusion for measured in moment], axis=0).tolist(),
    )


def common(racers: Sequence[Racer]) -> list[Racer]:
    """Return the racers that were measured, each at the moment at which it is compared with the others.

    Once all have ended that is the end, wherever each has its own: test images are read there, and once. Before,
    those that are measured at the same epochs are compared at the last that all of them have reached, and those that
    are not, such as models with snapshots of their own, each at its newest.
    """
    if all(racer.ended for racer in racers):
        return list(racers)
    lists = [racer.validated for racer in racers if not racer.ended and racer.validated]
    least = min(map(len, lists), default=0)
    in_step = len({tuple(m.epoch for m in found[:least]) for found in lists}) == 1
    return [
        replace(racer, measured=found[least - 1 if in_step and not racer.ended else -1])
        for racer in racers
        if (found := racer.validated)
    ]


def span(racers: Sequence[Racer]) -> tuple[float, float]:
    """The first and the last epoch in which these were measured; one and the same but where each has its own end."""
    epochs = [_measurement_of(racer).epoch for racer in racers]
    return min(epochs), max(epochs)


def describe(racers: Sequence[Racer], classes: Sequence[str]) -> str:
    """Return what the race shows, in sentences from its numbers; empty before the first measurement.

    Args:
        racers: the models, in their order.
        classes: names of the answers.
    """
    measured = common(racers)
    if not measured:
        return ""
    first = _measurement_of(measured[0])
    listed = ", ".join(f"{r.title} {percent(_measurement_of(r).accuracy)}" for r in measured)
    said = [
        f"Right on {first.images:,} {first.split} images after {_epochs(*span(measured))}: {listed};"
        f" guessing gives {percent(1 / len(classes), 0)}."
    ]
    said += [
        _summed(measured, classes),
        _describe_no_positions(measured, 1 / len(classes)),
        _shuffling(measured),
    ]
    return " ".join(sentence for sentence in said if sentence)


def _epochs(first: float, last: float) -> str:
    """'0.07 epochs', '1 epoch', '30 epochs', '2.5 to 6 epochs'."""
    ends = dict.fromkeys(f"{epoch:.2f}".rstrip("0").rstrip(".") for epoch in (first, last))
    text = " to ".join(ends)
    return f"{text} epoch" if text == "1" else f"{text} epochs"


def _measurement_of(racer: Racer) -> Measured:
    if racer.measured is None:
        raise ValueError(f"{racer.title} has not been measured")
    return racer.measured


def _summed(racers: Sequence[Racer], classes: Sequence[str]) -> str:
    """Why summed positions are right half of the time, if they are and their mistakes say why."""
    found = next((r for r in racers if r.name == SUMMED), None)
    if found is None or not explains_half(_measurement_of(found), classes):
        return ""
    swapped = percent(swapped_share(_measurement_of(found), classes), 0)
    return (
        f"**{found.title}** cannot tell left from above, nor right from below: its embedding of (row, column) is the"
        f" sum PE(row) + PE(column), the same for (column, row). {swapped} of its mistakes are exactly this swap."
    )


def explains_half(measured: Measured, classes: Sequence[str]) -> bool:
    """Return True if about half is right and most mistakes swap an answer for the one across the diagonal."""
    near = abs(measured.accuracy - 0.5) <= HALF
    return near and set(classes) == set(SWAPPED) and swapped_share(measured, classes) >= MOSTLY


def swapped_share(measured: Measured, classes: Sequence[str]) -> float:
    """Share of the mistakes that swap left for above or right for below, or the reverse; 0 without mistakes."""
    counts = np.array(measured.confusion)
    if counts.shape != (len(classes), len(classes)):
        return 0.0
    wrong = counts.sum() - counts.trace()
    swapped = sum(
        counts[i, classes.index(SWAPPED[name])] for i, name in enumerate(classes) if name in SWAPPED
    )
    return float(swapped / wrong) if wrong else 0.0


def _describe_no_positions(racers: Sequence[Racer], chance: float) -> str:
    """Return what positions add to a model that has none; of models near guessing nothing can be said."""
    none = next((r for r in racers if r.name == "none"), None)
    others = [r for r in racers if r.name not in ("none", PIXELS)]
    if none is None or not others:
        return ""
    best = max(others, key=lambda r: _measurement_of(r).accuracy)
    names = join_words(
        [r.title for r in others if _measurement_of(r).accuracy == _measurement_of(best).accuracy]
    )
    gain = percent_difference(_measurement_of(best).accuracy, _measurement_of(none).accuracy) / 100
    so_far = "" if all(r.ended for r in racers) else "so far "
    if max(_measurement_of(best).accuracy, _measurement_of(none).accuracy) < chance + LEARNED:
        return "With or without positions, none is far from guessing: it takes longer to see what they add."
    if gain >= CHANGED:
        return f"Positions add {100 * gain:.1f} points ({names} over {none.title})."
    if gain <= -CHANGED:
        said = f"{so_far}even the best with positions, {names}, lies {-100 * gain:.1f} points below {none.title}."
    else:
        said = f"{so_far}positions make a difference of {_LITTLE}: the bag of patches says nearly as much."
    return said[:1].upper() + said[1:]


def _shuffling(racers: Sequence[Racer]) -> str:
    """Return who relies on places: who loses where patches are shuffled."""
    lost = [(r, _measurement_of(r).accuracy - _measurement_of(r).shuffled) for r in racers]
    most, loss = max(lost, key=lambda item: item[1])
    falls = loss >= CLEARLY
    said = []
    if falls:
        ends = f"from {percent(_measurement_of(most).accuracy)} to {percent(_measurement_of(most).shuffled)}"
        said.append(f"{most.title} falls {ends}: it relies on where they lie")
    others = [
        f"{r.title} {'loses' if loss > 0 else 'gains'} {abs(100 * loss):.1f} points"
        for r, loss in lost
        if abs(loss) >= CHANGED and not (falls and r is most)
    ]
    if others:
        said.append(", ".join(others))
    same = [r.title for r, loss in lost if abs(loss) < CHANGED]
    if same:
        said.append(f"{_LITTLE} change for {', '.join(same)}")
    return f"With shuffled patches {'; '.join(said)}."
