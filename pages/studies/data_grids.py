"""Select among the stored results over training images, and describe how they were measured."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pages.controls import widgets
from pages.studies.study import Evidence
from vitviz.analysis.data_size import Row
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.text import plural

CHANCE = 0.1  # all three datasets have ten classes
EXPERIMENTS = tuple(f"data_size_{name}" for name in GRIDS)


@dataclass(frozen=True)
class GridControls(widgets.ControlValues, page="data"):
    """The dataset of the results, and True for trainings with augmentation."""

    dataset: str
    augmented: bool

    @property
    def stored(self) -> Result:
        """The results on the dataset.

        Raises:
            KeyError: if there are none.
        """
        return load_grids()[self.dataset]

    @property
    def rows(self) -> list[Row]:
        """The trainings with, or without, augmentation."""
        return self.stored.where(augmented=self.augmented)


def load_grids() -> dict[str, Result]:
    """Load the results of every measured dataset."""
    return {name: stored for name in GRIDS if (stored := read_result_if_any(f"data_size_{name}")) is not None}


def get_example() -> GridControls | None:
    """Return CIFAR-10 with augmentation, or what was measured instead; None if no dataset was measured."""
    grids = load_grids()
    if not grids:
        return None
    name = "cifar10" if "cifar10" in grids else next(iter(grids))
    return GridControls(name, any(row["augmented"] for row in grids[name].rows))


def choose_grid() -> GridControls | None:
    """Draw the selection of dataset and augmentation; return None if there are no results."""
    example = get_example()
    if example is None:
        return None
    dataset = widgets.segmented(
        GridControls.key("dataset"),
        "Dataset",
        tuple(load_grids()),
        example.dataset,
        format_func=lambda name: DATASETS[name].title,
    )
    halves = {bool(row["augmented"]) for row in load_grids()[dataset].rows}
    missing = "Disabled: the other trainings were not run." if len(halves) == 1 else None
    augmented = widgets.toggle(
        GridControls.key("augmented"),
        "Augmentation",
        True in halves,
        help=_describe_augmentation(dataset),
        why_not=missing,
    )
    return GridControls(dataset, augmented if missing is None else True in halves)


def _describe_augmentation(dataset: str) -> str:
    train = GRIDS[dataset].train
    flips = " and flipped with probability 0.5" if train.flip else ""
    return f"Shifted by up to {train.shift_px} px{flips} in training."


def create_evidence(grid: GridControls) -> Evidence:
    """Return the provenance of a dataset's results."""
    stored = grid.stored
    settings = stored.settings
    return Evidence(
        stored,
        stored.rows,
        f"{DATASETS[grid.dataset].title}, {settings['updates']:,} updates of up to {settings['batch_size']}"
        " images for every point, one recipe for all models; the DeiT also learns from the CNN of the same images,"
        " whose training time is excluded",
    )


def describe_coverage() -> str:
    """Count the finished trainings of every dataset, with and without augmentation."""
    counts = []
    for name in GRIDS:
        stored, title = load_grids().get(name), DATASETS[name].title
        if stored is None or not stored.rows:
            counts.append(f"{title} none")
            continue
        halves = [
            _describe_half(stored, augmented, GRIDS[name].cells_of_a_half) for augmented in (True, False)
        ]
        counts.append(f"{title} {' and '.join(halves)}")
    return f"Trainings measured so far: {'; '.join(counts)}."


def _describe_half(stored: Result, augmented: bool, total: int) -> str:
    rows = stored.where(augmented=augmented)
    by_cell = Counter((row["model"], row["pictures"]) for row in rows).values()
    seeds = plural(max(by_cell, default=0), "seed")
    seeds = f"up to {seeds}" if len({*by_cell}) > 1 else seeds  # seeds differ between sizes or models
    kind = "augmented" if augmented else "plain"
    return f"{len(rows)} of {total} {kind} ({seeds})" if rows else f"none of {total} {kind}"
