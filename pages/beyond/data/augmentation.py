"""What augmentation gives each model, and what the model then sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch

from pages.beyond.data import stored
from pages.shell import nouns, page
from pages.stores import cached
from vitviz.analysis.data_size import Curve, curves, gains
from vitviz.data.datasets import available_datasets
from vitviz.experiments import data_size
from vitviz.plots.data_size import gain_figure
from vitviz.training.recipe import augment

SHOWN = 7
_PX = 96


@dataclass(frozen=True)
class Halves:
    """Both halves of a grid as curves."""

    plain: list[Curve]
    augmented: list[Curve]


def draw() -> None:
    """The strip of augmented pictures, the gains, and what they say."""
    with page.row():
        chosen = stored.choose()
    if chosen is None:
        return
    which, found = chosen
    _strip(which.dataset)
    halves = Halves(
        curves(found.rows, data_size.TITLES, False),
        curves(found.rows, data_size.TITLES, True),
    )
    measured = gains(halves.plain, halves.augmented)
    if not measured:
        st.info(
            "On this set only one half of the grid was measured: augmented and plain pictures stand side by side on"
            " another set.",
            icon=":material/timer:",
        )
    else:
        page.figure(gain_figure(measured, nouns.mode()), "data.gains_figure")
        page.caption(_describe(measured))
    page.caption(stored.how(found))
    page.drawers("data.augmented", code=(augment,), numbers=partial(_numbers, measured))


def _strip(dataset: str) -> None:
    """One training picture, and what a model sees of it in a few updates."""
    name = dataset if dataset in available_datasets() else "digits"
    data, train = cached.dataset(name), data_size.GRIDS[name].train
    picture = torch.from_numpy(np.array(data.train_images[:1])).permute(0, 3, 1, 2).repeat(SHOWN, 1, 1, 1)
    seen = augment(
        picture, train, torch.zeros(picture.shape[1], dtype=torch.uint8), torch.Generator().manual_seed(0)
    )
    scale = -(-_PX // picture.shape[-1])
    shown = [
        np.broadcast_to(one.permute(1, 2, 0).numpy(), (*one.shape[1:], 3)).repeat(scale, 0).repeat(scale, 1)
        for one in (picture[0], *seen)
    ]
    names = ["as it is", *(f"seen {i + 1}" for i in range(SHOWN))]
    st.image(shown, caption=names, alt=[f"The training picture, {name}" for name in names], width=_PX)
    page.caption(
        f"One training picture, and {SHOWN} showings of it: a model hardly ever sees the very same one twice."
    )


def _describe(measured: Sequence[tuple[str, str, int, float]]) -> str:
    """The largest and the smallest gain in words."""
    best = max(measured, key=lambda item: item[3])
    least = min(measured, key=lambda item: item[3])
    return (
        f"Augmentation gives most to {best[1]} with {best[2]:,} pictures ({100 * best[3]:+.1f} points) and least to"
        f" {least[1]} with {least[2]:,} ({100 * least[3]:+.1f}), means over the seeds that both halves have."
    )


def _numbers(measured: Sequence[tuple[str, str, int, float]]) -> None:
    st.dataframe(
        {
            "model": [title for _, title, _, _ in measured],
            "pictures": [size for _, _, size, _ in measured],
            "gain, points": [100 * gain for *_, gain in measured],
        },
        hide_index=True,
    )
