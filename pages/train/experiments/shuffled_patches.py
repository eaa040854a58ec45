"""Build the panels of a live run: its curves, and accuracies on original images and on shuffled patches."""

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


def build_panels(hyperparameter: Hyperparameter, run: Run, waiting: str) -> live_runs.RunPanels:
    """Build the panels of a run, averaged over seeds; `waiting` replaces a missing curve."""
    config = run.config()
    racers, counts = average_seeds(hyperparameter, list_racers(run))
    message = plots.payload(racers, 1 / config.model.num_classes, config.longest or 1.0, waiting)
    # Titles of an uploaded dataset's run are foreign text.
    plain_racers = [replace(racer, title=plain(racer.title)) for racer in racers]
    caption = results.describe_race(plain_racers, cached.load_dataset(config.train.dataset).classes)
    if caption and max(counts) > 1:
        each = plural(max(counts), "seed")
        span = each if min(counts) == max(counts) else f"{min(counts)} to {each}"
        caption += f" Every accuracy is the mean over {span}."
    return live_runs.RunPanels(message, caption, any(racer.is_finished for racer in racers))


def average_seeds(hyperparameter: Hyperparameter, racers: list[Racer]) -> tuple[list[Racer], list[int]]:
    """Average the racers of each value over its finished seeds, or all if none has finished; also count the seeds."""
    names = {hyperparameter.label(value): f"{value}" for value in hyperparameter.values}
    by_title: dict[str, list[Racer]] = {}
    for racer in racers:
        by_title.setdefault(racer.title, []).append(racer)
    seeds = [[racer for racer in group if racer.is_finished] or group for group in by_title.values()]
    means = [results.average_seeds(group) for group in seeds]
    return [replace(racer, name=names.get(racer.title, racer.title)) for racer in means], [*map(len, seeds)]
