"""A measure that reads the stored experiments of fine-tuning."""

from __future__ import annotations

from dataclasses import dataclass

from vitviz.analysis.data_size import Lead, leads
from vitviz.analysis.transfer import curves_of, said
from vitviz.experiments.result import ResultError, read_result
from vitviz.experiments.transfer_plan import PLAN_OF, Plan
from vitviz.lessons.question_kinds import AtHand, Choose, Kind, Measured


@dataclass(frozen=True)
class TransferLeader:
    """Which way has the highest mean test accuracy with the fewest pictures a class, or with the most."""

    source: str
    fewest: bool = True

    def __post_init__(self) -> None:
        if self.source not in PLAN_OF:
            raise ValueError(f"a body is one of {', '.join(PLAN_OF)}, received {self.source!r}")

    def why_not(self, at: AtHand) -> str:
        """Where it was not measured."""
        return "" if self._lead() is not None else "This was not measured on this server."

    def kind(self, at: AtHand) -> Kind:
        """One of the ways."""
        return Choose(tuple(self._plan.methods.values()))

    def measured(self, at: AtHand) -> Measured:
        """Reads the file of results."""
        lead = self._lead()
        if lead is None:
            raise ValueError(f"nothing was measured of {self.source}")
        return Measured(list(self._plan.methods).index(lead.first.name), said(lead))

    @property
    def _plan(self) -> Plan:
        return PLAN_OF[self.source]

    def _lead(self) -> Lead | None:
        try:
            rows = read_result(self._plan.name).rows
        except ResultError:
            return None
        found = leads(curves_of(rows, self.source, self._plan.methods))
        return found[0 if self.fewest else -1] if found else None
