"""Two ways to embed that agree, and the slip that runs without an error."""

from __future__ import annotations

import inspect
from textwrap import dedent

import numpy as np
import streamlit as st

from pages.inside.patches import views
from pages.inside.patches.cut import Cut
from pages.inside.patches.puzzle import power_of_ten
from pages.shell import nouns, page
from vitviz.analysis import patches
from vitviz.models.layers import unfold_patches
from vitviz.plots import patches as plots

CODE_PX = 300  # of the two boxes of code, side by side


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
    pinned = nouns.current().pin.cell(cut.layout.grid)
    views.slip(plots.slip(cut.shown, slipped, cut.patch_px, pinned), key="patches.slip")
    side, p = cut.shown.shape[0], cut.patch_px
    rows = patches.slip_rows(side, p)
    page.caption(
        f"`picture.reshape(N, P·P·C)` has the right shape, {len(slipped):,} × {p * p * len(cut.values):,}, and the"
        f" wrong pixels: each “patch” is a run of {p * p} pixels over"
        f" {'1 row' if rows == 1 else f'up to {rows} rows'} of the picture. On average"
        f" {100 * patches.slip_share(side, p):.0f} % of them lie in the patch of the same number."
    )
