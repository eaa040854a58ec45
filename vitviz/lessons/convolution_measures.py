"""The lecture's open question, read off its experiment's file."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from vitviz.experiments.conv_nets import NAME, TITLES
from vitviz.experiments.result import Result, kept_result
from vitviz.lessons.question_kinds import AtHand, Choose, Kind, Measured
from vitviz.text import percent, plural

ASKED = ("written", "control", "cnn")


@dataclass(frozen=True)
class AttentionOverConvolutions:
    """Which is most accurate: the lecture's attention over convolutions, the same without attention, or a CNN."""

    def why_not(self, at: AtHand) -> str:
        """Where it was not measured."""
        found = stored()
        every = found is not None and all(accuracies(found, name) for name in ASKED)
        return "" if every else "The experiment's results do not lie on this server."

    def kind(self, at: AtHand) -> Kind:
        """One of the three."""
        return Choose(tuple(TITLES[name] for name in ASKED))

    def measured(self, at: AtHand) -> Measured:
        """Reads the file."""
        found = stored()
        if found is None:
            raise ValueError("attention over convolutions was not measured")
        means = [mean(accuracies(found, name)) for name in ASKED]
        words = ", ".join(
            f"{TITLES[name]}: {percent(value)}" for name, value in zip(ASKED, means, strict=True)
        )
        seeds = sorted({len(accuracies(found, name)) for name in ASKED})
        of = plural(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        how = "with one seed each" if seeds == [1] else f"each the mean of {of}"
        return Measured(means.index(max(means)), f"{words}, {how}.")


def stored() -> Result | None:
    """The experiment's results, where they lie here."""
    return kept_result(NAME)


def accuracies(found: Result, model: str) -> list[float]:
    """Test accuracies of a net, one a seed."""
    return [float(row["test"]) for row in found.where(model=model) if "test" in row]
