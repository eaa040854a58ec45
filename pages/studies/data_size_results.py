"""Select among the stored results over training images, and describe how they were measured."""

from dataclasses import dataclass

from pages.controls import widgets
from pages.studies.study import Choice, Evidence
from vitviz.analysis.data_size import Row
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result_file import Result, read_result_if_any

CHANCE = 0.1  # all three datasets have ten classes
EXPERIMENTS = tuple(f"data_size_{name}" for name in GRIDS)


@dataclass(frozen=True)
class Grid:
    """The stored results of a dataset, with or without augmentation."""

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
        return self.stored.where(augmented=self.augmented)


def load_grids() -> dict[str, Result]:
    return {name: stored for name in GRIDS if (stored := read_result_if_any(f"data_size_{name}")) is not None}


def list_datasets() -> dict[str, str]:
    return {name: DATASETS[name].title for name in load_grids()}


def list_augmentations(dataset: str) -> dict[bool, str]:
    """Return if trainings with, and without, augmentation were measured on a dataset."""
    measured = {bool(row["augmented"]) for row in load_grids()[dataset].rows}
    return {half: title for half, title in ((True, "augmented"), (False, "plain")) if half in measured}


def _describe_augmentation(dataset: str) -> str:
    train = GRIDS[dataset].train
    flips = " and flipped with probability 0.5" if train.flip else ""
    return f"Training images are shifted by up to {train.shift_px} px{flips}."


CHOICES = (
    Choice("data.dataset", "Dataset", list_datasets, "cifar10"),
    Choice(
        "data.augmented",
        "Augmentation",
        list_augmentations,
        True,
        widgets.toggle,
        _describe_augmentation,
        why_not="Disabled: the other runs are missing.",
    ),
)


def create_evidence(grid: Grid) -> Evidence:
    stored = grid.stored
    settings = stored.settings
    return Evidence(
        stored,
        stored.rows,
        f"{DATASETS[grid.dataset].title}, {settings['updates']:,} updates with batches of up to"
        f" {settings['batch_size']} images for every point, one recipe for all models; the DeiT is distilled from a CNN"
        " trained on the same images (the CNN's training time is not included)",
    )
