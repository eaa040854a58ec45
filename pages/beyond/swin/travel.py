"""Information travels: what the masks allow after every block, and what gradients measure."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import streamlit as st

from pages.beyond.swin import subject
from pages.beyond.swin import views as views
from pages.shell import controls, nouns, page, stand_in
from pages.stores import cached
from pages.stores.choice import ModelChoice
from vitviz.analysis import reachability
from vitviz.analysis import windows as analysis
from vitviz.models.layout import TokenLayout
from vitviz.models.loaded import LoadedModel
from vitviz.plots import swin as plots
from vitviz.probe.window_reach import NOTHING, patch_gradients

KEY = "swin.reach"
BLOCKS = 8  # a corner of 16 x 16 patches reaches the whole picture after 7 with windows of 4
SHOWN = 12  # blocks of a real Swin side by side
CNN_RADIUS = 2  # two 3 x 3 convolutions, as in a residual block


@lru_cache(maxsize=32)
def tables(grid: int, window: int, shift: int) -> dict[str, tuple[str, np.ndarray]]:
    """Title -> (note, hops) of the four kinds of block on one grid."""
    found, tokens = analysis.layout((grid, grid), window, shift), grid * grid
    plain = reachability.window_links(found.plain, None, tokens)
    shifted = reachability.window_links(found.index, found.mask, tokens)
    every = np.ones((tokens, tokens), bool)
    near = reachability.convolution_links((grid, grid), CNN_RADIUS)
    kinds = {
        "Swin, shifted": (f"windows of {window}, shift {shift}", plain, shifted),
        "Swin, never shifted": (f"windows of {window}", plain, plain),
        "ViT": ("global attention", every, every),
        "CNN": ("two 3 × 3 convolutions a block", near, near),
    }
    return {
        title: (note, reachability.first_block(reachability.alternate(even, odd, BLOCKS)))
        for title, (note, even, odd) in kinds.items()
    }


def draw() -> None:
    """Four pictures that fill up block by block."""
    st.subheader("Information travels", anchor=False)
    grid, window, shift = (st.session_state[f"swin.{name}"] for name in ("grid", "window", "shift"))
    hops = tables(grid, window, shift)
    pin = nouns.current().pin.cell((grid, grid))
    payload = plots.reach(subject.picture(), (grid, grid), hops, pin)
    views.reach(payload, key=KEY, on_change=partial(subject.keep_pin, KEY))
    page.caption(describe(hops, pin, shift))


def describe(hops: dict[str, tuple[str, np.ndarray]], pin: int, shift: int) -> str:
    """The caption, for the pinned patch."""
    tokens = len(next(iter(hops.values()))[1])

    def full(title: str) -> str:
        from_pin = hops[title][1][:, pin]
        if (from_pin == reachability.NEVER).any():
            return f"{(from_pin != reachability.NEVER).sum():,} of {tokens:,} patches after {BLOCKS} blocks"
        count = from_pin.max()
        return f"the whole picture after {count} block{'s' if count > 1 else ''}"

    text = f"From patch {pin + 1}, information reaches {full('ViT')} of a ViT and {full('CNN')} of the CNN."
    if not shift:
        return text + f" With a shift of 0 it stays in its window: {full('Swin, shifted')}."
    return (
        text
        + f" Windows that shift reach {full('Swin, shifted')}; windows that never shift: {full('Swin, never shifted')}."
    )


def draw_measured(choice: ModelChoice, step: int) -> None:
    """The same question to a real model, by gradients."""
    st.subheader("Measured: the gradient of one output token", anchor=False)
    stand_in.say_which(choice, lacks="windows", button="Choose this Swin", key="swin.choose")
    model, config = cached.loaded(choice, step), subject.config_of(choice)
    prepared = nouns.prepared(model.preparation)
    grid = model.model.layout(*prepared.input.shape[-2:]).grid
    every = reachability.swin_blocks(config, grid)
    first = 1
    if len(every) > SHOWN:
        first = controls.slider("swin.first", "First block shown", 1, len(every) - SHOWN + 1, 1)
    blocks = every[first - 1 : first - 1 + SHOWN]
    now = nouns.current()
    point = now.pin.point
    names = tuple(block.name for block in blocks)
    found = _gradients(model.digest, model, now.image, now.offset, names, point)
    tokens = [TokenLayout((), block.grid, 1).token_at(*point) for block in blocks]
    allowed = np.stack([reachability.reads(every, first - 1 + i, token) for i, token in enumerate(tokens)])
    payload = plots.gradient(subject.picture(model.preparation), grid, blocks, tokens, allowed, found)
    views.gradient(payload, key="swin.gradient")
    measured = found > NOTHING * found.max(axis=1, keepdims=True)
    same = int((allowed == measured).all(axis=1).sum())
    page.caption(
        f"One backward pass from the token under the pin after each block. In {same} of {len(blocks)} blocks the"
        f" gradient is non-zero on exactly the patches that windows, masks and mergings allow (outlined);"
        f" they grow from {allowed[0].sum():,} to {allowed[-1].sum():,} of {allowed.shape[1]:,}."
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
) -> np.ndarray:
    """(blocks, patches)."""
    prepared = cached.prepared(image, _model.preparation, offset)
    return patch_gradients(_model.model, prepared.input, names, point)
