"""What augmentation gives each model, and what the model then sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from pages.studies.data import papers, stored_results
from vitviz.analysis.data_size import Curve, gains, leads
from vitviz.config import TrainConfig
from vitviz.data.datasets import data_title, default_pictures
from vitviz.experiments import data_size
from vitviz.plots.data_size import gain_figure
from vitviz.tables import Columns
from vitviz.text import gained, plural
from vitviz.training.batches import prepared_pictures
from vitviz.training.recipe import augment

SHOWN = 7
ONE_SEED = " Of one seed each: another may say otherwise."
_PX = 96


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="data"):
    """Which model is guessed to gain most."""

    gain_guess: str


def draw() -> None:
    """The strip of augmented pictures, the gains, and what they say."""
    with page.row():
        dataset = stored_results.choose_set()
    if dataset is None:
        return
    found = stored_results.result(dataset)
    assert found is not None
    _strip(dataset)
    measured = gains(found.rows, data_size.TITLES)
    if not measured:
        st.info(
            "On this set only one half of the grid was measured: augmented and plain pictures stand side by side on"
            " another set.",
            icon=":material/timer:",
        )
    elif _guessed(dataset, measured):
        page.figure(gain_figure(measured, selection.mode()), "data.gains_figure")
        page.caption(_describe(measured))
    else:
        page.caption("A guess shows what it gives each of them.")
    page.caption(stored_results.how(found))
    page.caption(stored_results.coverage())
    papers.say("augmented")
    page.drawers("data.augmented", code=(augment,), numbers=partial(_numbers, measured))


def _guessed(dataset: str, measured: Sequence[Curve]) -> bool:
    """Asks who gains most with the fewest pictures; whether the gains may be shown."""
    compared = leads(measured)
    if not compared:
        return True
    pictures = compared[0].pictures
    points = {
        gain.name: (gain.title, 100 * float(gain.mean[place]))
        for gain in measured
        if (place := gain.at(pictures)) is not None
    }
    return prediction_gate.first(
        Choice.key("gain_guess"),
        dataset,
        f"With {plural(pictures, 'picture')}, which model gains most from such showings?",
        {name: title for name, (title, _) in points.items()},
        lambda guess: judged(points, guess) + (ONE_SEED if compared[0].seeds == 1 else ""),
    )


def judged(points: Mapping[str, tuple[str, float]], guess: str) -> str:
    """Whether a guess about who gains most was right; by model its title and its gain in points."""
    title, own = points[guess]
    most, best = max(points.values(), key=lambda of: of[1])
    said = f"You said {title}: {gained(own)} points"
    if round(own, 1) == round(best, 1):
        return f"{said}, right: {'none gains more' if best > 0 else 'none gains, and none loses less'}."
    return f"{said}. {most} {'gains most' if best > 0 else 'loses least'}, {gained(best)}."


def _strip(dataset: str) -> None:
    """One picture as the models of a grid see it, and what its recipe makes of it in a few updates."""
    grid = data_size.GRIDS[dataset]
    name = default_pictures(dataset, grid.preparation.in_chans)
    data = cached.dataset(name)
    images = (
        data.train_images if len(data.train_images) else data.test_images
    )  # 'a few' has none to learn from
    one = prepared_pictures(images[:1], np.zeros(1, np.int64), slice(None), grid.preparation).images
    seen = augment(
        one.repeat(SHOWN, 1, 1, 1),
        grid.train,
        torch.zeros(one.shape[1], dtype=torch.uint8),
        torch.Generator().manual_seed(0),
    )
    scale = -(-_PX // one.shape[-1])
    shown = [
        np.broadcast_to(each.permute(1, 2, 0).numpy(), (*each.shape[1:], 3)).repeat(scale, 0).repeat(scale, 1)
        for each in (one[0], *seen)
    ]
    names = ["as it is", *(f"seen {i + 1}" for i in range(SHOWN))]
    with st.container(horizontal=True, gap="xsmall"):
        for each, said in zip(shown, names, strict=True):
            st.image(each, caption=said, alt=f"The picture, {said}", width=_PX)
    lacks = (
        "" if name == dataset else f"; the training pictures of {data_title(dataset)} are not on this machine"
    )
    page.caption(
        f"One picture and {SHOWN} of the {showings(grid.train):,} showings of it that there are. {_seen(grid)} It is"
        f" from '{data_title(name)}'{lacks}."
    )


def showings(train: TrainConfig) -> int:
    """In how many ways one picture can be shown: moved by -s..s pixels down and across, and flipped or not."""
    return (2 * train.shift_px + 1) ** 2 * (1 + train.flip)


def _seen(grid: data_size.Grid) -> str:
    """How often a training sees one picture, with the fewest and with the most."""
    fewest, most = (f"{grid.trained_on(size).epochs or 0:,.3g}" for size in (grid.sizes[0], grid.sizes[-1]))
    few, many = grid.sizes[0], grid.sizes[-1]
    return f"With {few:,} pictures a model sees each {fewest} times, with {many:,} each {most} times."


def _describe(measured: Sequence[Curve]) -> str:
    """The largest and the smallest gain in words."""
    places = [(gain, place) for gain in measured for place in range(len(gain.mean))]
    if len(places) == 1:
        return f"Measured of one point alone: {_said(*places[0])}, augmented less plain."
    best = max(places, key=lambda at: at[0].mean[at[1]])
    least = min(places, key=lambda at: at[0].mean[at[1]])
    seeds = sorted({int(count) for gain in measured for count in gain.seeds})
    pairs = (
        "one seed each, so another may say otherwise"
        if seeds == [1]
        else "means over the seeds that both halves have"
    )
    gives = "gives most to" if best[0].mean[best[1]] > 0 else "helps none; it costs least for"
    and_least = "gives least to" if least[0].mean[least[1]] > 0 else "costs most for"
    return (
        f"Augmentation {gives} {_said(*best)} and {and_least} {_said(*least)}: augmented less plain, seed by seed,"
        f" {pairs}."
    )


def _said(gain: Curve, place: int) -> str:
    return f"{gain.title} with {gain.pictures[place]:,} pictures ({gained(100 * gain.mean[place])} points)"


def _numbers(measured: Sequence[Curve]) -> None:
    table: Columns = {
        "model": [gain.title for gain in measured for _ in gain.pictures],
        "pictures": [int(size) for gain in measured for size in gain.pictures],
        "gain, points": [100 * float(value) for gain in measured for value in gain.mean],
        "seeds": [int(count) for gain in measured for count in gain.seeds],
    }
    page.table(table, {"gain, points": gained}, {}, "data.gains")
