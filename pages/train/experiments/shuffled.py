"""A live run as a race: its curves, and beside them every model on whole pictures and with shuffled patches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pages.stores import cached
from pages.stores.racers import racers
from pages.train.experiments import live
from vitviz.analysis import race as results
from vitviz.analysis.race import Racer
from vitviz.plots import race as plots
from vitviz.words import plain, plural

if TYPE_CHECKING:
    from vitviz.experiments.knob import Knob
    from vitviz.training.run_directory import Run


def show(knob: Knob, run: Run, waiting: str) -> live.Shown:
    """A run of a knob, its seeds averaged; `waiting` is said where there is no curve."""
    config = run.config()
    found, seeds = averaged(knob, racers(run))
    message = plots.payload(found, 1 / config.model.num_classes, config.longest or 1.0, waiting)
    # Of an upload, titles are a stranger's.
    spoken = [replace(one, title=plain(one.title)) for one in found]
    told = results.describe(spoken, cached.dataset(config.train.dataset).classes)
    if told and seeds > 1:
        told += f" Every number is the mean of {plural(seeds, 'seed')}."
    return live.Shown(message, told, any(one.ended for one in found))


def averaged(knob: Knob, found: list[Racer]) -> tuple[list[Racer], int]:
    """One racer a value, known by the value's name, and of how many seeds."""
    names = {knob.label(value): f"{value}" for value in knob.values}
    by_title: dict[str, list[Racer]] = {}
    for one in found:
        by_title.setdefault(one.title, []).append(one)
    means = [
        replace(results.averaged(seeds), name=names.get(title, title)) for title, seeds in by_title.items()
    ]
    return means, max(map(len, by_title.values()), default=0)
