"""Accuracy over training time, one size at a time: where the models' lines cross, and where they do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pages.beyond.data import stored
from pages.shell import controls, nouns, page
from vitviz.analysis.data_size import crossings, curves, lacking, mean_lines, seeds_said
from vitviz.experiments import data_size
from vitviz.plots.data_size import time_figure
from vitviz.words import percent


@dataclass(frozen=True)
class Choice(controls.Chosen, page="data"):
    """The number of training pictures."""

    pictures: int


def draw() -> None:
    """The whole view: choices, lines, what crosses, drawers."""
    with page.row():
        chosen = stored.choose()
    if chosen is None:
        return
    which, found = chosen
    rows = [row for row in found.rows if row["augmented"] == which.augmented and row.get("curve")]
    sizes = tuple(sorted({int(row["pictures"]) for row in rows}))
    pictures = controls.select_slider(
        Choice.key("pictures"), "Training pictures", sizes, sizes[-1], format_func=lambda size: f"{size:,}"
    )
    here = [row for row in rows if row["pictures"] == pictures]
    lines = mean_lines(here, data_size.TITLES)
    page.figure(time_figure(lines, stored.CHANCE, nouns.mode()), "data.time_figure")
    measured = curves(here, data_size.TITLES, which.augmented)
    told = (
        _ends(lines),
        crossings(lines),
        seeds_said(measured, "line"),
        lacking(measured, (pictures,), data_size.TITLES),
    )
    page.caption(" ".join(filter(None, told)))
    page.caption(stored.how(found))
    page.caption(stored.coverage())
    page.drawers("data.time", code=(mean_lines, crossings))


def _ends(lines: dict[str, tuple[str, np.ndarray]]) -> str:
    said = [
        f"{title} {percent(float(line[1, -1]))} after {line[0, -1]:.0f}\N{NO-BREAK SPACE}s"
        for title, line in lines.values()
    ]
    return f"At the end, on the validation pictures: {', '.join(said)}."
