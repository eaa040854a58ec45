"""The page's controls: the size of the picture and that of a patch."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import widgets
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.patches import PatchSize, patch_sizes
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import abilities
from vitviz.text import plain

IMAGE_SIZES = (28, 32, 48, 64, 96, 128, 192, 224)
PATCH_SIZES = (2, 4, 6, 7, 8, 12, 14, 16, 28, 32)
Options = dict[int, list[PatchSize]]  # patch sizes by image size


_IMAGE_PX, _ROOM_PX = 168, 120


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="patches"):
    """Sizes in pixels."""

    image_px: int
    patch_px: int


def options(config: ViTConfig | SwinConfig) -> Options:
    """Patch sizes by image size, where at least one can be shown."""
    images, candidates = {config.image_size}, {config.patch_size}
    if abilities(config).any_size:
        images, candidates = {*IMAGE_SIZES, *images}, {*PATCH_SIZES, *candidates}
    sizes = {px: patch_sizes(px, tuple(candidates)) for px in sorted(images)}
    return {px: found for px, found in sizes.items() if any(size.reason is None for size in found)}


def read(model: ModelChoice, sizes: Options, own_patch_px: int) -> tuple[Choice, DeltaGenerator]:
    """Draws the controls; also gives the room at the end of their row, for a section's own.

    Args:
        model: the sidebar's.
        sizes: `options` of it; not empty.
        own_patch_px: the patch that the model was made for.
    """
    # Each as wide as what it says: what has no room beside the others stands in the next line, and nothing is cut.
    with st.container(horizontal=True, vertical_alignment="top", gap="small"):
        image = st.container(width=_IMAGE_PX)
        cut, out = st.container(width="content"), st.container(width="content")
        room = st.container(width=_ROOM_PX)
    with image:
        image_px = _image_px(sizes, model.config.image_size)
    fitting = tuple(size.patch_px for size in sizes[image_px] if size.reason is None)
    with cut:
        patch_px = widgets.segmented(
            Choice.key("patch_px"),
            "Patch size P, in pixels",
            fitting,
            own_patch_px if own_patch_px in fitting else fitting[len(fitting) // 2],
            help=f"{plain(model.title)} was made for {own_patch_px} px. Another size needs another E: a seeded random"
            " one.",
        )
    with out:
        _say_misfits(image_px, sizes[image_px], abilities(model.config).any_size.why_not)
    return Choice(image_px, patch_px), room


def _image_px(sizes: Options, own_px: int) -> int:
    return widgets.select(
        Choice.key("image_px"),
        "Image size",
        tuple(sizes),
        min(sizes, key=lambda px: abs(px - own_px)),
        format_func=lambda px: f"{px} px" + (" · its own" if px == own_px else ""),
        help="Side of the square that the model reads. E depends on the patch size alone: it fits every size.",
    )


def _say_misfits(image_px: int, sizes: list[PatchSize], fixed: str) -> None:
    """Which patch sizes do not fit, and why; or why there is one size alone."""
    misfits = {size.patch_px: size.reason for size in sizes if size.reason}
    if misfits:
        with st.container(gap="xxsmall"):
            st.markdown(
                f":small[Do not fit {image_px} px]",
                help="  \n".join(f"{px} px: {reason}." for px, reason in misfits.items()),
            )
            st.pills(
                f"Patch sizes that do not fit {image_px} px",
                tuple(misfits),
                disabled=True,
                key="patches.misfits",
                label_visibility="collapsed",
            )
    elif fixed:
        st.caption(fixed)
