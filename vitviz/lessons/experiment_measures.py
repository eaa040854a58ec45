"""Measures that read the experiments on one knob, one slip and the gradient."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import isnan

from vitviz.analysis.gradients import norms_at
from vitviz.analysis.one_change import Gain, Variant, gain, variant
from vitviz.experiments.bugs import MENDED, SLIPS
from vitviz.experiments.deep_models import NAME as GRADIENTS
from vitviz.experiments.deep_models import VARIANTS
from vitviz.experiments.hyperparameter import BASES, Knob
from vitviz.experiments.hyperparameters import KNOBS
from vitviz.experiments.result import Result, Row, kept_result
from vitviz.lessons.question_kinds import AtHand, Choose, Kind, Measured
from vitviz.text import listed, percent, plural

NOT_HERE = "The experiment's results do not lie on this server."
MATTERS = 2.0  # points of accuracy
COSTS = ("it costs more than 2 points", "less than 2 points either way", "it brings more than 2 points")
EARLY = 10  # updates after which the gradients are compared


def knob_rows(found: Result, name: str) -> dict[Hashable, list[Row]]:
    """The rows of one knob by value, those of the base among them; values that were not measured are missing."""
    knob, rows = KNOBS[name], found.rows
    own = knob.base(BASES["digits"])
    by_value: dict[Hashable, list[Row]] = {}
    for value in knob.values:
        of = [
            row
            for row in rows
            if (row["knob"] == "base" if value == own else row["knob"] == name and row["value"] == value)
        ]
        if of:
            by_value[value] = of
    return by_value


def knob_variants(found: Result, knob: Knob) -> list[Variant]:
    """What the file holds of one knob, value by value."""
    epochs = float(found.settings["epochs"])
    rows = knob_rows(found, knob.name)
    return [
        variant(f"{value}", knob.label(value), rows[value], epochs) for value in knob.values if value in rows
    ]


def slip_rows(found: Result, slip: str) -> list[Row]:
    """The rows of one slip; of 'mended:FAMILY' those of the family's model without a slip."""
    kind, _, family = slip.partition(":")
    return [row for row in found.rows if row["slip"] == kind and (not family or row["family"] == family)]


def slip_gain(found: Result, slip: str) -> Gain | None:
    """What a slip brings, seed by seed; None where it was not measured."""
    epochs = float(found.settings["epochs"])
    sides = [
        variant(name, name, slip_rows(found, name), epochs)
        for name in (slip, f"{MENDED}:{SLIPS[slip].family}")
    ]
    return gain(*sides)


@dataclass(frozen=True)
class KnobBest:
    """Which value of a knob has the highest mean test accuracy on the digits."""

    knob: str

    def __post_init__(self) -> None:
        if self.knob not in KNOBS:
            raise ValueError(f"a knob is one of {', '.join(KNOBS)}, received {self.knob!r}")

    def why_not(self, at: AtHand) -> str:
        """Where it was not measured."""
        return "" if len(self._ended()) > 1 else NOT_HERE

    def kind(self, at: AtHand) -> Kind:
        """One of the values."""
        return Choose(tuple(one.title for one in self._ended()))

    def measured(self, at: AtHand) -> Measured:
        """Reads the file."""
        ended = self._ended()
        reached = [one.mean for one in ended]
        best, *level = (place for place, value in enumerate(reached) if value == max(reached))
        words = ", ".join(f"{one.title}: {percent(one.mean)}" for one in ended)
        return Measured(best, f"Mean test accuracy: {words}.{_lead(ended)}", level=tuple(level))

    def _ended(self) -> list[Variant]:
        """The values of which a training has ended, in their order."""
        found = kept_result("one_knob_digits")
        return [] if found is None else [one for one in knob_variants(found, KNOBS[self.knob]) if one.test]


def _lead(ended: Sequence[Variant]) -> str:
    """Which values are level at the top, or how far the best lies before the next, and whether the seeds agree."""
    best, second, *_ = sorted(ended, key=lambda one: -one.mean)
    if best.mean == second.mean:
        level = [one.title for one in ended if one.mean == best.mean]
        return f" {listed(level)} are level, and each of them counts."
    lead = gain(best, second)
    return "" if lead is None else f" {best.title} against {second.title}: {lead.said}, {lead.sure}."


@dataclass(frozen=True)
class SlipCost:
    """Whether a slip costs more than two points of test accuracy, brings more, or neither."""

    slip: str
    dataset: str = "digits"

    def __post_init__(self) -> None:
        if self.slip not in SLIPS:
            raise ValueError(f"a slip is one of {', '.join(SLIPS)}, received {self.slip!r}")

    def why_not(self, at: AtHand) -> str:
        """Where it was not measured."""
        return "" if self._gain() is not None else NOT_HERE

    def kind(self, at: AtHand) -> Kind:
        """One of three answers."""
        return Choose(COSTS)

    def measured(self, at: AtHand) -> Measured:
        """Reads the file."""
        found = self._gain()
        if found is None:
            raise ValueError(f"the slip {self.slip!r} was not measured on {self.dataset!r}")
        place = 0 if found.mean < -MATTERS else 2 if found.mean > MATTERS else 1
        return Measured(place, f"With the slip less without, on the mean: {found.said}, {found.sure}.")

    def _gain(self) -> Gain | None:
        found = kept_result(f"one_slip_{self.dataset}")
        return None if found is None else slip_gain(found, self.slip)


@dataclass(frozen=True)
class WeakestGradient:
    """In which deep model the first block gets the smallest share of the last one's gradient after ten updates."""

    def why_not(self, at: AtHand) -> str:
        """Where it was not measured."""
        return "" if len(self._shares()) == len(VARIANTS) else NOT_HERE

    def kind(self, at: AtHand) -> Kind:
        """One of the variants."""
        return Choose(tuple(VARIANTS.values()))

    def measured(self, at: AtHand) -> Measured:
        """Reads the file."""
        shares = self._shares()
        least = min(shares, key=shares.__getitem__)
        words = "; ".join(f"{VARIANTS[name]}: {share:.2g}" for name, share in shares.items())
        return Measured(
            list(VARIANTS).index(least),
            f"The first block's gradient over the last one's after {plural(EARLY, 'update')}, geometric means over the"
            f" seeds: {words}.",
        )

    def _shares(self) -> dict[str, float]:
        found = kept_result(GRADIENTS)
        if found is None:
            return {}
        norms = norms_at(found.rows, list(found.settings["marks"]).index(EARLY), VARIANTS)
        return {one.name: one.share for one in norms if not isnan(one.share)}
