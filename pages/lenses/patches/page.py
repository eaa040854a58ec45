"""Lens: patches, the patch embedding and the token sequence."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import widgets
from pages.frame import page
from pages.lenses.patches import embedding_ways, patch_view, puzzle, sequence, sizes
from pages.lenses.patches.embedded_image import EmbeddedImage, embed_selected_image
from pages.selection import selection
from vitviz.models.abilities import as_cut

Section = Callable[[EmbeddedImage, DeltaGenerator], None]  # draws an image; its control goes to the row's end
VIEWS: dict[str, tuple[str, Section]] = {
    "stage": ("From patch to token", patch_view.draw),
    "sequence": ("The sequence", lambda image, _: sequence.draw(image)),
    "puzzle": ("Shuffled patches", lambda image, _: puzzle.draw(image)),
    "ways": ("Implementations", lambda image, _: embedding_ways.draw(image)),
}


@dataclass(frozen=True)
class SectionControls(widgets.ControlValues, page="patches"):
    """The selected section, one of `VIEWS`."""

    view: str


def draw() -> None:
    """Draw the selected section, or offer another model where this one has no patches to show."""
    choice = selection.get_model_choice()
    config = as_cut(choice.config)
    options = sizes.list_patch_sizes(config)
    if not options:
        side = config.image_size // config.patch_size
        st.info(
            f"This model has {side} × {side} patches, too many to show individually. Select another model.",
            icon=":material/grid_off:",
        )
        return
    widgets.keep_pending(patch_view.ColumnControls, puzzle.ShuffleControls)
    draw_section = widgets.choose_section(SectionControls.key("view"), VIEWS)
    selected_sizes, row_end = sizes.draw_size_controls(choice, options, config.patch_size)
    image = embed_selected_image(selected_sizes)
    patch_view.draw_model_note(image)
    draw_section(image, row_end)


page.header("patches")
draw()
