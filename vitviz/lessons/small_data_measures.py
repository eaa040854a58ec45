"""Measures that read a file of results: what was trained and measured before, many times over."""

from __future__ import annotations

from dataclasses import dataclass

from vitviz.analysis.data_size import Lead, curves, leads
from vitviz.experiments.data_size import GRIDS, TITLES
from vitviz.experiments.result import ResultError, read_result
from vitviz.lessons.question_kinds import AtHand, Choose, Kind, Measured
from vitviz.text import percent, plural

MODELS = tuple(TITLES)


@dataclass(frozen=True)
class DataLeader:
    """Which of the models has the highest mean test accuracy at the smallest size of a grid."""

    dataset: str
    augmented: bool = True

    def __post_init__(self) -> None:
        if self.dataset not in GRIDS:
            raise ValueError(f"a grid is on {', '.join(GRIDS)}, received {self.dataset!r}")

    def why_not(self, at: AtHand) -> str:
        """Where the grid was not measured."""
        return "" if self._lead() is not None else "No measured grid of this set lies on this server."

    def kind(self, at: AtHand) -> Kind:
        """One of the models."""
        return Choose(tuple(TITLES.values()))

    def measured(self, at: AtHand) -> Measured:
        """Reads the grid's file."""
        lead = self._lead()
        if lead is None:
            raise ValueError(f"no grid of {self.dataset} was measured")
        first, second = lead.first, lead.second
        own, next_ = (float(curve.mean[curve.pictures == lead.pictures][0]) for curve in (first, second))
        return Measured(
            MODELS.index(first.name),
            f"With {plural(lead.pictures, 'picture')} {first.title} gets {percent(own)} of the test pictures right,"
            f" {second.title} as the next {percent(next_)}: {lead.sure}.",
        )

    def _lead(self) -> Lead | None:
        try:
            rows = read_result(f"data_size_{self.dataset}").rows
        except ResultError:
            return None
        found = leads(curves(rows, TITLES, self.augmented))
        return found[0] if found else None
