"""Measures of what models cost: by formula, and by this machine's clock."""

from __future__ import annotations

from dataclasses import dataclass

from vitviz.lessons.formula_measures import Always
from vitviz.lessons.question_kinds import AtHand, Choose, Kind, Measured
from vitviz.models.presets import PRESETS, Preset


@dataclass(frozen=True)
class _OfTwo(Always):
    """Two shapes by their presets' names."""

    first: str
    second: str

    def __post_init__(self) -> None:
        for name in (self.first, self.second):
            if name not in PRESETS:
                raise ValueError(f"{name[:40]!r} is no preset")

    def kind(self, at: AtHand) -> Kind:
        """One of the two."""
        return Choose(tuple(preset.title for preset in self._two()))

    def _two(self) -> tuple[Preset, Preset]:
        return PRESETS[self.first], PRESETS[self.second]


@dataclass(frozen=True)
class MoreMultiplyAdds(_OfTwo):
    """Which of two shapes needs more multiply-adds for one picture of its own size."""

    def measured(self, at: AtHand) -> Measured:
        """By the formulas."""
        from vitviz.models import parameter_count

        adds = [
            sum(parameter_count.multiply_adds(p.config, p.preparation.image_size).values())
            for p in self._two()
        ]
        weights = [sum(parameter_count.parameters(p.config).values()) for p in self._two()]
        words = "; ".join(
            f"{p.title}: {count / 1e6:,.1f} million parameters, {cost / 1e9:,.2f} billion multiply-adds"
            for p, count, cost in zip(self._two(), weights, adds, strict=True)
        )
        return Measured(
            int(adds[1] > adds[0]), f"{words}. A weight is used once for every token that passes it."
        )


@dataclass(frozen=True)
class SlowerHere(_OfTwo):
    """Which of two shapes takes longer for one picture on this machine, with random weights."""

    def measured(self, at: AtHand) -> Measured:
        """By the clock."""
        from vitviz.models.zoo import create_model
        from vitviz.probe.stopwatch import time_model

        found = [
            time_model(
                create_model(p.config, seed=0).eval(),
                p.config.in_chans,
                p.preparation.image_size,
                random=True,
            )
            for p in self._two()
        ]
        words = " and ".join(
            f"{p.title} takes {1000 * one.median_s:.2f} ms ({1000 * one.low_s:.2f} to {1000 * one.high_s:.2f})"
            for p, one in zip(self._two(), found, strict=True)
        )
        return Measured(int(found[1].median_s > found[0].median_s), f"{words}, with random weights.")
