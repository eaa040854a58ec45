"""A live run as a race: its curves, and beside them every model on whole images and with shuffled patches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pages.stores import cached
from pages.stores.runs import list_racers
from pages.train.experiments import live_runs
from vitviz.analysis import race as results
from vitviz.analysis.race import Racer
from vitviz.plots import race as plots
from vitviz.text import plain, plural

if TYPE_CHECKING:
    from vitviz.experiments.hyperparameter import Hyperparameter
    from vitviz.training.run_directory import Run


def build_panels(knob: Hyperparameter, run: Run, waiting: str) -> live_runs.RunPanels:
    """Return a run of a hyperparameter, its seeds averaged; `waiting` is said where there is no curve."""
    config = run.config()
    found, counts = average_seeds(knob, list_racers(run))
    message = plots.payload(found, 1 / config.model.num_classes, config.longest or 1.0, waiting)
    # Of an upload, titles are a stranger's.
    spoken = [replace(one, title=plain(one.title)) for one in found]
    told = results.describe(spoken, cached.load_dataset(config.train.dataset).classes)
    if told and max(counts) > 1:
        each = plural(max(counts), "seed")
        told += f" Every number is the mean of {each if min(counts) == max(counts) else f'{min(counts)} to {each}'}."
    return live_runs.RunPanels(message, told, any(one.ended for one in found))


def average_seeds(knob: Hyperparameter, found: list[Racer]) -> tuple[list[Racer], list[int]]:
    """Return one racer a value, known by the value's name, and of how many seeds: those that have ended, else all."""
    names = {knob.label(value): f"{value}" for value in knob.values}
    by_title: dict[str, list[Racer]] = {}
    for one in found:
        by_title.setdefault(one.title, []).append(one)
    seeds = [[one for one in alike if one.ended] or alike for alike in by_title.values()]
    means = [results.averaged(alike) for alike in seeds]
    return [replace(one, name=names.get(one.title, one.title)) for one in means], [*map(len, seeds)]
