"""The controls of image size and patch size."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import widgets
from pages.frame import page
from pages.stores.model_choice import ModelChoice
from vitviz.analysis.patches import PatchSize, patch_sizes
from vitviz.config import SwinConfig, ViTConfig
from vitviz.models.abilities import abilities

IMAGE_SIZES = (28, 32, 48, 64, 96, 128, 192, 224)
PATCH_SIZES = (2, 4, 6, 7, 8, 12, 14, 16, 28, 32)
PatchSizes = dict[int, list[PatchSize]]  # by image size in pixels
_IMAGE_CONTROL_PX, _ROW_END_PX = 168, 120


def list_patch_sizes(config: ViTConfig | SwinConfig) -> PatchSizes:
    """Return the patch sizes of every image size that allows at least one."""
    images, candidates = {config.image_size}, {config.patch_size}
    if abilities(config).any_size:
        images, candidates = {*IMAGE_SIZES, *images}, {*PATCH_SIZES, *candidates}
    sizes = {px: patch_sizes(px, tuple(candidates)) for px in sorted(images)}
    return {px: row for px, row in sizes.items() if any(size.reason is None for size in row)}


def draw_size_controls(
    model: ModelChoice, sizes: PatchSizes, original_patch_px: int
) -> tuple[int, int, DeltaGenerator]:
    """Draw the controls; return image and patch size in pixels, and a free container at the end of their row.

    Args:
        model: the selected model.
        sizes: `list_patch_sizes` of the model; not empty.
        original_patch_px: the patch size of the model.
    """
    # Each control is as wide as its content, so that a narrow screen wraps the row and cuts nothing.
    with page.row():
        left, right = st.container(width=_IMAGE_CONTROL_PX), st.container(width="content")
        row_end = st.container(width=_ROW_END_PX)
    with left:
        image_px = _draw_image_size(sizes, model.config.image_size)
    allowed = tuple(size.patch_px for size in sizes[image_px] if size.reason is None)
    reasons = [f"{size.patch_px} px: {size.reason}." for size in sizes[image_px] if size.reason]
    fixed = abilities(model.config).any_size.why_not
    with right:
        patch_px = widgets.segmented(
            "patches.patch_px",
            "Patch size P, in pixels",
            allowed,
            original_patch_px if original_patch_px in allowed else allowed[len(allowed) // 2],
            help="  \n".join(
                [
                    fixed or f"This model has {original_patch_px} px patches; other sizes use a random E.",
                    *reasons,
                ]
            ),
        )
    return image_px, patch_px, row_end


def _draw_image_size(sizes: PatchSizes, original_px: int) -> int:
    return widgets.select(
        "patches.image_px",
        "Image size",
        tuple(sizes),
        min(sizes, key=lambda px: abs(px - original_px)),
        format_func=lambda px: f"{px} px" + (" (original)" if px == original_px else ""),
        help="Side of the square input. E depends only on the patch size.",
    )
