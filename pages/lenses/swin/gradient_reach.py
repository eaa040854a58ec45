"""What one token of a real Swin has read, measured by gradients, beside what its windows and masks allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import swin_selection, views
from pages.lenses.swin.swin_selection import Subject
from pages.selection import selection
from pages.stores import cached
from vitviz.analysis import token_reach
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots import swin as plots
from vitviz.probe.window_reach import NOTHING, patch_gradients
from vitviz.text import plural

SHOWN = 12  # blocks side by side


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """Which block is the first that is shown, from 1, of a Swin with more than are shown at once."""

    first: int


def draw(now: Subject) -> None:
    """A small picture a block."""
    swin_selection.introduce(now)
    every = token_reach.swin_blocks(now.config, now.grid)
    first = _first(len(every)) - 1
    blocks = every[first : first + SHOWN]
    chosen, names = selection.current(), tuple(block.name for block in blocks)
    found = _gradients(now.model.digest, now.model, chosen.image, chosen.offset, names, chosen.pin.point)
    tokens = [chosen.pin.cell(block.grid) for block in blocks]
    allowed = np.stack([token_reach.reads(every, first + i, token) for i, token in enumerate(tokens)])
    payload = plots.gradient(
        now.picture, now.grid, blocks=blocks, tokens=tokens, allowed=allowed, gradients=found
    )
    views.gradient(payload, key="swin.gradient")
    page.caption(describe(allowed, found))


def _first(blocks: int) -> int:
    if blocks <= SHOWN:
        return 1
    return int(widgets.slider(Choice.key("first"), "First block shown", 1, blocks - SHOWN + 1, 1))


def describe(allowed: token_reach.BoolArray, gradients: NDArray[np.float64]) -> str:
    """In how many blocks the two agree; both (blocks, patches)."""
    measured = gradients > NOTHING * gradients.max(axis=1, keepdims=True)
    same, count = int((allowed == measured).all(axis=1).sum()), len(allowed)
    return (
        f"One backward pass from the token under the pin after each block. In {same} of {plural(count, 'block')} the"
        " gradient is non-zero on exactly the patches that windows, masks and mergings allow (outlined): from"
        f" {allowed[0].sum():,} to {allowed[-1].sum():,} of {allowed.shape[1]:,}."
        f" Below {NOTHING:.0e} of the largest counts as zero."
    )


@cached.per_picture(shared=24, upload=8, spinner="Following the gradients …")
def _gradients(
    digest: str,
    _model: LoadedModel,
    image: str,
    offset: cached.Offset,
    names: tuple[str, ...],
    point: tuple[float, float],
) -> NDArray[np.float64]:
    """(blocks, patches)."""
    prepared = cached.prepared(image, _model.preparation, offset)
    return patch_gradients(_model.model, prepared.input, names, point)
