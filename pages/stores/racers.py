"""The models of a run as they race: what their records say so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.stores import runs
from vitviz.analysis import race

if TYPE_CHECKING:
    from vitviz.training.run_directory import Run


def racers(run: Run) -> list[race.Racer]:
    """An experiment's models, in their order."""
    found = []
    for member in runs.models_of(run):
        log = runs.log(member.id).read()
        name, title = member.directory.name, member.config().name
        found.append(race.racer(name, title, log.validation()[[1, -1]], log.shuffled))
    return found
