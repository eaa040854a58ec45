"""The grid's stored results, the choice among them, and how they were made."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from vitviz.data.datasets import DATASETS
from vitviz.experiments.data_size import GRIDS
from vitviz.experiments.result import Result, kept_result, told
from vitviz.text import plain, plural

CHANCE = 0.1  # all three sets have ten classes


@dataclass(frozen=True)
class Which(widgets.Chosen, page="data"):
    """The set of the grid, and whether its pictures were augmented while training."""

    dataset: str
    augmented: bool


def result(dataset: str) -> Result | None:
    """What was measured on one set; None where no file of results lies here."""
    return kept_result(f"data_size_{dataset}")


def choose_set() -> str | None:
    """Draws the choice of a stored grid, in a row; None, and what makes one, where there is none."""
    here = tuple(name for name in GRIDS if result(name) is not None)
    if not here:
        st.info(
            "No measured grid lies here. `python -m vitviz.experiment data_size_digits` makes one.",
            icon=":material/timer:",
        )
        return None
    return widgets.segmented(
        Which.key("dataset"), "Data set", here, _first(here), format_func=lambda name: DATASETS[name].title
    )


def choose() -> tuple[Which, Result] | None:
    """Draws the choice of a stored grid and of its half; None where there is no grid."""
    dataset = choose_set()
    found = None if dataset is None else result(dataset)
    if dataset is None or found is None:
        return None
    halves = {bool(row["augmented"]) for row in found.rows}
    missing = "Disabled: this half of the grid was not measured." if len(halves) == 1 else None
    augmented = widgets.toggle(
        Which.key("augmented"),
        "Augmented pictures",
        True in halves,
        help=_augmentation(dataset),
        why_not=missing,
    )
    return Which(dataset, augmented if missing is None else True in halves), found


def _first(here: tuple[str, ...]) -> str:
    """The set whose grid is measured furthest."""
    found = {name: kept for name in here if (kept := result(name)) is not None}
    return max(here, key=lambda name: len(found[name].rows) / (len(found[name].rows) + found[name].missing))


def _augmentation(dataset: str) -> str:
    train = GRIDS[dataset].train
    flips = " and half of the time flipped" if train.flip else ""
    return f"While training, every picture is moved by up to {train.shift_px} px{flips}."


def how(found: Result) -> str:
    """One line on how the points were made, and what makes them again."""
    settings = found.settings
    short = (
        f" {found.missing} of {found.missing + len(found.rows)} trainings of the grid were not made as yet."
        if found.missing
        else ""
    )
    return (
        f"Stored, not live: {settings['updates']:,} updates of up to {settings['batch_size']} pictures for every point,"
        " one recipe for all models; the DeiT also learns from the CNN that saw the same pictures, whose training its"
        f" seconds do not count; {plain(told(found.made))}. `{found.command}`{short}"
    )


def coverage() -> str:
    """How much of either half of every set's grid was measured, the sets of which nothing was too."""
    told = []
    for name in GRIDS:
        found, title = result(name), DATASETS[name].title
        if found is None or not found.rows:
            told.append(f"{title} not at all")
            continue
        halves = [_half(found, augmented, GRIDS[name].cells_of_a_half) for augmented in (True, False)]
        told.append(f"{title} {' and '.join(halves)}")
    return f"Trainings measured so far: {'; '.join(told)}."


def _half(found: Result, augmented: bool, wanted: int) -> str:
    rows = found.where(augmented=augmented)
    by_cell = Counter((row["model"], row["pictures"]) for row in rows).values()
    seeds = plural(max(by_cell, default=0), "seed")
    seeds = f"up to {seeds}" if len({*by_cell}) > 1 else seeds  # of one cell more than of another
    kind = "augmented" if augmented else "plain"
    return f"{len(rows)} of {wanted} {kind} ({seeds})" if rows else f"none of {wanted} {kind}"
