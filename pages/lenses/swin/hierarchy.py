"""Hierarchy: the stages' grids as a pyramid, and one merging of four tokens spelled out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pages.controls import widgets
from pages.frame import page
from pages.lenses.swin import swin_selection, views
from pages.lenses.swin.swin_selection import Subject
from pages.selection import selection
from vitviz.analysis.window_attention import Merge, merge_at
from vitviz.config import SwinConfig
from vitviz.models.swin import PatchMerging
from vitviz.plots import swin as plots
from vitviz.probe.swin_parts import merging_norm

KEY = "swin.pyramid"

MATHEMATICS = r"""
Four neighbours become one token, twice as wide:

$$
y = \mathrm{LN}\bigl([x_{0,0};\ x_{1,0};\ x_{0,1};\ x_{1,1}]\bigr)\,W, \qquad W \in \mathbb{R}^{4C \times 2C}
$$

$x_{r,c}$ are the token in row $r$ and column $c$ of the group, $C$ values each; a row or column that is missing at the
grid's end is filled with zeros.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*, section 3.1. The
order of the four is that of the published weights.
"""


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="swin"):
    """Into which stage the four tokens are merged, from 2."""

    merge: int


def draw() -> None:
    """The pyramid and the merging into one of its stages, then the drawers."""
    now = swin_selection.current()
    swin_selection.introduce(now)
    payload = plots.pyramid(
        now.picture, now.config, now.grid, selection.current().pin.point, _merge(now, read(now.config))
    )
    views.pyramid(payload, key=KEY, on_change=partial(swin_selection.keep_pin, KEY))
    page.caption(describe(now.config, now.grid))
    page.drawers("swin.merge", math=MATHEMATICS, code=(PatchMerging.forward,))


def read(config: SwinConfig) -> Choice | None:
    """Draws the control where there is more than one merging; None without any."""
    stages = tuple(range(2, len(config.depths) + 1))
    if len(stages) < 2:
        return Choice(stages[0]) if stages else None
    return Choice(widgets.segmented(Choice.key("merge"), "Merging into stage", stages))


def _merge(now: Subject, chosen: Choice | None) -> Merge | None:
    """The group of four under the pin, from a stage's output to the next one's input."""
    if chosen is None:
        return None
    into = chosen.merge - 1
    names = (f"layers.{into - 1}", f"layers.{into}.blocks.0.input")
    found = selection.captured(now.choice, now.step, names)
    before, after = (found[name][0] for name in names)
    place = selection.current().pin.row_col(after.shape[:2])
    return merge_at(before, after, into, place, merging_norm(now.model.swin, into))


def describe(config: SwinConfig, grid: tuple[int, int]) -> str:
    """The caption: tokens and values from the first stage to the last."""
    last = len(config.depths) - 1
    rows, cols = grid
    for _ in range(last):
        rows, cols = -(-rows // 2), -(-cols // 2)
    first, end, dim = grid[0] * grid[1], rows * cols, config.embed_dim
    side, px, picture_px = config.window_size, config.patch_size, max(grid) * config.patch_size
    window = f"A window holds {side} × {side} tokens, so it covers {min(side * px, picture_px)}"
    if not last:
        return f"{first:,} tokens of {dim:,} values in every block. {window} of the picture's {picture_px} px a side."
    return (
        f"{first:,} tokens of {dim:,} values become {end:,} of {dim * 2**last:,}: {first / end:,.0f} times fewer,"
        f" {2**last} times as wide. {window} of the picture's {picture_px} px a side at first, and"
        f" {min(side * px * 2**last, picture_px)} at the end."
    )
