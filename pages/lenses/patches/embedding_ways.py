"""Two ways to embed that agree, and the slip that runs without an error."""

from __future__ import annotations

import inspect
from textwrap import dedent

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.patches import views
from pages.lenses.patches.embedded_image import Cut
from pages.lenses.patches.puzzle import power_of_ten
from pages.selection import selection
from vitviz.analysis import patches
from vitviz.models.layers import unfold_patches
from vitviz.plots import patches as plots
from vitviz.text import percent

CODE_PX = 300  # of the two boxes of code, side by side


MATHEMATICS = r"""
A Conv2d with kernel and stride $P$ computes, at every place where it stops, the sum that one row of patches times
$\mathbf{E}$ is:

$$
(\mathbf{x}_p\mathbf{E} + \mathbf{b})_d = \sum_{c=1}^{C} \sum_{i=1}^{P} \sum_{j=1}^{P} W_{d,c,i,j}\; x_{c,\,i,\,j} + b_d
$$

so $\mathbf{E}$ is its weight $W$, laid out as a matrix of $P^2 C$ rows and $D$ columns.

Source: Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, section 3.1.
"""


def draw(cut: Cut) -> None:
    """Both ways, the slip, the drawers."""
    draw_convolution(cut)
    draw_slip(cut)
    page.drawers(
        "patches.ways",
        math=MATHEMATICS,
        code=(patches.patchify, patches.embed, patches.slip_patches),
    )


def draw_convolution(cut: Cut) -> None:
    """The code of both ways, and how far their numbers differ on this picture."""
    st.subheader("One convolution, or one matrix product", anchor=False)
    found = cut.found
    product = patches.embed(patches.patchify(cut.values, cut.patch_px), found.weight, found.bias)
    difference = patches.largest_difference(found.convolved, product)
    dim, values = found.weight.shape
    channels, p = cut.values.shape[0], cut.patch_px
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Conv2d, kernel = stride = {p}** · weight `({dim}, {channels}, {p}, {p})`")
        embed = type(cut.model.get_submodule("patch_embed"))
        page.source(dedent(inspect.getsource(embed.forward)), height=CODE_PX)
    with right:
        st.markdown(f"**Unfold, then one product** · weight as a matrix `({dim}, {values})`")
        page.source(inspect.getsource(unfold_patches), height=CODE_PX)
    largest = float(np.abs(found.convolved).max())
    verdict = "rounding only" if difference < 1e-4 * max(1.0, largest) else "more than rounding"
    if difference == 0:
        verdict = "the same to the last bit"
    page.caption(
        f"Both ran on this picture with {'this model’s own E' if cut.own_patch else 'the random E'}. Of"
        f" {product.size:,} values the largest difference is **{power_of_ten(difference)}**, where the largest value"
        f" is {largest:.2f}: {verdict}."
    )


def draw_slip(cut: Cut) -> None:
    """The right patches beside runs of pixels."""
    st.subheader("The slip that runs without an error", anchor=False)
    slipped = patches.slip_patches(cut.shown, cut.patch_px)
    pinned = selection.current().pin.cell(cut.layout.grid)
    views.slip(plots.slip(cut.shown, slipped, cut.patch_px, pinned), key="patches.slip")
    side, p = cut.shown.shape[0], cut.patch_px
    shape = f"{len(slipped):,} × {p * p * len(cut.values):,}"
    if len(slipped) == 1:
        page.caption(
            f"`picture.reshape(N, P·P·C)` has the right shape, {shape}: one patch cannot be cut wrongly."
        )
        return
    rows = patches.slip_rows(side, p)
    page.caption(
        f"`picture.reshape(N, P·P·C)` has the right shape, {shape}, and the wrong pixels: each “patch” is a run of"
        f" {p * p} pixels over {'1 row' if rows == 1 else f'up to {rows} rows'} of the picture. On average"
        f" {percent(patches.slip_share(side, p), 0)} of them lie in the patch of the same number."
    )
