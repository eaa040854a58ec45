"""The grid's stored results, the choice among them, and how they were made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, describe_provenance, read_result_if_any
from vitviz.text import plain, plural

CHANCE = 0.1  # all three sets have ten classes


@dataclass(frozen=True)
class GridControls(widgets.ControlValues, page="data"):
    """The set of the grid, and whether its images were augmented while training."""

    dataset: str
    augmented: bool


def load_grid(dataset: str) -> Result | None:
    """Return what was measured on one set; None where no file of results lies here."""
    return read_result_if_any(f"data_size_{dataset}")


def choose_dataset() -> str | None:
    """Draws the choice of a stored grid, in a row; None, and what makes one, where there is none."""
    here = tuple(name for name in GRIDS if load_grid(name) is not None)
    if not here:
        st.info(
            "No results are stored here. `python -m vitviz.experiment data_size_digits` measures them.",
            icon=":material/timer:",
        )
        return None
    return widgets.segmented(
        GridControls.key("dataset"),
        "Dataset",
        here,
        _find_fullest_dataset(here),
        format_func=lambda name: DATASETS[name].title,
    )


def choose_grid() -> tuple[GridControls, Result] | None:
    """Draws the choice of a stored grid and of its half; None where there is no grid."""
    dataset = choose_dataset()
    found = None if dataset is None else load_grid(dataset)
    if dataset is None or found is None:
        return None
    halves = {bool(row["augmented"]) for row in found.rows}
    missing = "Disabled: this half of the grid was not measured." if len(halves) == 1 else None
    augmented = widgets.toggle(
        GridControls.key("augmented"),
        "Augmented images",
        True in halves,
        help=_describe_augmentation(dataset),
        why_not=missing,
    )
    return GridControls(dataset, augmented if missing is None else True in halves), found


def _find_fullest_dataset(here: tuple[str, ...]) -> str:
    """Return the set whose grid is measured furthest."""
    found = {name: kept for name in here if (kept := load_grid(name)) is not None}
    return max(here, key=lambda name: len(found[name].rows) / (len(found[name].rows) + found[name].missing))


def _describe_augmentation(dataset: str) -> str:
    train = GRIDS[dataset].train
    flips = " and half of the time flipped" if train.flip else ""
    return f"While training, every image is moved by up to {train.shift_px} px{flips}."


def describe_origin(found: Result) -> str:
    """Return one line on how the points were made, and what makes them again."""
    settings = found.settings
    short = (
        f" {found.missing} of {found.missing + len(found.rows)} trainings of the grid are missing."
        if found.missing
        else ""
    )
    return (
        f"Stored, not live: {settings['updates']:,} updates of up to {settings['batch_size']} images for every point,"
        " one recipe for all models; the DeiT also learns from the CNN that saw the same images, "
        f"whose training time is excluded; {plain(describe_provenance(found.made))}. `{found.command}`{short}"
    )


def describe_coverage() -> str:
    """Return how much of either half of every set's grid was measured, the sets of which nothing was too."""
    told = []
    for name in GRIDS:
        found, title = load_grid(name), DATASETS[name].title
        if found is None or not found.rows:
            told.append(f"{title} not at all")
            continue
        halves = [_describe_half(found, augmented, GRIDS[name].cells_of_a_half) for augmented in (True, False)]
        told.append(f"{title} {' and '.join(halves)}")
    return f"Trainings measured so far: {'; '.join(told)}."


def _describe_half(found: Result, augmented: bool, wanted: int) -> str:
    rows = found.where(augmented=augmented)
    by_cell = Counter((row["model"], row["pictures"]) for row in rows).values()
    seeds = plural(max(by_cell, default=0), "seed")
    seeds = f"up to {seeds}" if len({*by_cell}) > 1 else seeds  # of one cell more than of another
    kind = "augmented" if augmented else "plain"
    return f"{len(rows)} of {wanted} {kind} ({seeds})" if rows else f"none of {wanted} {kind}"
