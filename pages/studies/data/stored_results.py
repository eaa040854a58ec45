"""Select among the stored results of the study, and describe their provenance."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, describe_provenance, read_result_if_any
from vitviz.text import plain, plural

CHANCE = 0.1  # all three datasets have ten classes


@dataclass(frozen=True)
class GridControls(widgets.ControlValues, page="data"):
    """The dataset of the results, and True for trainings with augmentation."""

    dataset: str
    augmented: bool


def load_grid(dataset: str) -> Result | None:
    """Load the results on a dataset; return None if there is no result file."""
    return read_result_if_any(f"data_size_{dataset}")


def choose_dataset() -> str | None:
    """Draw the selection among measured datasets; without any, draw the command that measures one and return None."""
    available = tuple(name for name in GRIDS if load_grid(name) is not None)
    if not available:
        st.info(
            "No results are stored here. Run `python -m vitviz.experiment data_size_digits`.",
            icon=":material/timer:",
        )
        return None
    return widgets.segmented(
        GridControls.key("dataset"),
        "Dataset",
        available,
        _find_fullest_dataset(available),
        format_func=lambda name: DATASETS[name].title,
    )


def choose_grid() -> tuple[GridControls, Result] | None:
    """Draw the selection of dataset and augmentation; return None if there are no results."""
    dataset = choose_dataset()
    stored = None if dataset is None else load_grid(dataset)
    if dataset is None or stored is None:
        return None
    halves = {bool(row["augmented"]) for row in stored.rows}
    missing = "Disabled: the other trainings were not run." if len(halves) == 1 else None
    augmented = widgets.toggle(
        GridControls.key("augmented"),
        "Augmentation",
        True in halves,
        help=_describe_augmentation(dataset),
        why_not=missing,
    )
    return GridControls(dataset, augmented if missing is None else True in halves), stored


def _find_fullest_dataset(available: tuple[str, ...]) -> str:
    """Return the dataset with the largest share of finished trainings."""
    grids = {name: grid for name in available if (grid := load_grid(name)) is not None}
    return max(
        available, key=lambda name: len(grids[name].rows) / (len(grids[name].rows) + grids[name].missing)
    )


def _describe_augmentation(dataset: str) -> str:
    train = GRIDS[dataset].train
    flips = " and flipped with probability 0.5" if train.flip else ""
    return f"Shifted by up to {train.shift_px} px{flips} in training."


def describe_origin(stored: Result) -> str:
    """Describe the provenance of the results in one line, with the command that reproduces them."""
    settings = stored.settings
    missing = (
        f" {stored.missing} of {stored.missing + len(stored.rows)} trainings are missing."
        if stored.missing
        else ""
    )
    return (
        f"Stored, not live: {settings['updates']:,} updates of up to {settings['batch_size']} images for every point,"
        " one recipe for all models; the DeiT also learns from the CNN that saw the same images, "
        f"whose training time is excluded; {plain(describe_provenance(stored.made))}. `{stored.command}`{missing}"
    )


def describe_coverage() -> str:
    """Count the finished trainings of every dataset, with and without augmentation."""
    counts = []
    for name in GRIDS:
        stored, title = load_grid(name), DATASETS[name].title
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
