"""Compare two correct implementations of the patch embedding with a common reshape bug."""

import inspect
from textwrap import dedent

import numpy as np
import streamlit as st

from pages.controls import listing
from pages.frame import page
from pages.lenses.patches import captions
from pages.lenses.patches.embedded_image import EmbeddedImage
from pages.selection import selection
from pages.views.register import register
from vitviz.analysis import patches
from vitviz.models.layers import unfold_patches
from vitviz.plots import patches as plots

_mount_reshape = register(__file__, "patches_reshape", "patches_pair")
CODE_PX = 300  # height of the two code boxes


def draw(image: EmbeddedImage) -> None:
    draw_reshape_bug(image)
    draw_implementations(image)
    page.drawers(
        "patches.ways",
        math=page.read_math(__file__),
        code=(patches.patchify, patches.embed, patches.slip_patches),
    )


def draw_implementations(image: EmbeddedImage) -> None:
    """Draw the code of both implementations and the difference of their outputs."""
    st.subheader("One convolution, or one matrix product", anchor=False)
    embedding = image.embedding
    product = patches.embed(patches.patchify(image.values, image.patch_px), embedding.weight, embedding.bias)
    dim, values = embedding.weight.shape
    channels, p = image.values.shape[0], image.patch_px
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**Conv2d, kernel = stride = {p}** · weight `({dim}, {channels}, {p}, {p})`")
        patch_embed = type(image.model.get_submodule("patch_embed"))
        listing.source(dedent(inspect.getsource(patch_embed.forward)), height=CODE_PX)
    with right:
        st.markdown(f"**Unfold, then one product** · weight as a matrix `({dim}, {values})`")
        listing.source(inspect.getsource(unfold_patches), height=CODE_PX)
    difference = patches.largest_difference(embedding.convolved, product)
    largest = float(np.abs(embedding.convolved).max())
    page.caption(captions.describe_difference(difference, largest, product.size))


def draw_reshape_bug(image: EmbeddedImage) -> None:
    """Draw the correct patches beside those that a plain reshape returns."""
    st.subheader("A common bug that raises no error", anchor=False)
    reshaped = patches.slip_patches(image.pixels, image.patch_px)
    pinned = selection.get_current().pin.cell(image.layout.grid)
    payload = plots.slip(image.pixels, reshaped, image.patch_px, pinned)
    _mount_reshape(payload, key="patches.slip")
    page.caption(captions.describe_reshape_bug(image, len(reshaped)))
