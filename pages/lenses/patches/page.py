"""Lens: patches, the patch embedding and the token sequence."""

from collections.abc import Callable

import streamlit as st

from pages.controls import popover, widgets
from pages.frame import page
from pages.lenses.patches import embedded_image, embedding_ways, patch_view, shuffled_patches
from pages.lenses.patches.embedded_image import EmbeddedImage, embed_selected_image
from pages.selection import selection
from vitviz.models.abilities import as_cut

Section = Callable[[EmbeddedImage, popover.Popover], None]  # draws an image; its control goes to the options
VIEWS: dict[str, tuple[str, Section]] = {
    "stage": ("From patch to token", patch_view.draw),
    "sequence": ("The sequence", lambda image, _: patch_view.draw_sequence(image)),
    "puzzle": ("Shuffled patches", lambda image, _: shuffled_patches.draw(image)),
    "ways": ("Implementations", lambda image, _: embedding_ways.draw(image)),
}


@page.view
def draw() -> None:
    choice = selection.get_model_choice()
    config = as_cut(choice.config)
    options = embedded_image.list_patch_sizes(config)
    if not options:
        rows, cols = (side // config.patch_size for side in config.image_shape)
        st.info(
            f"This model has {rows} × {cols} patches, too many to show individually. Select another model.",
            icon=":material/grid_off:",
        )
        return
    draw_section = widgets.choose_section("patches.view", VIEWS)
    image_size, patch_px, more = embedded_image.draw_size_controls(choice, options, config.patch_size)
    image = embed_selected_image(image_size, patch_px)
    patch_view.draw_model_note(image)
    draw_section(image, more)


page.header("patches")
draw()
