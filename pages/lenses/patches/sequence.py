"""The sequence that enters the first layer: patches times E, tokens before them, and positions."""

from __future__ import annotations

import numpy as np

from pages.frame import page
from pages.lenses.patches import views
from pages.lenses.patches.embedded_image import Cut
from pages.selection import selection
from vitviz.analysis.patches import position_rows
from vitviz.models.abilities import as_vit
from vitviz.models.vit import VisionTransformer
from vitviz.plots import patches as plots
from vitviz.text import plural

MATHEMATICS = r"""
$$
\mathbf{z}_0 = [\mathbf{x}_\text{class};\ \mathbf{x}^1_p\mathbf{E};\ \dots;\ \mathbf{x}^N_p\mathbf{E}]
+ \mathbf{E}_{pos}
$$

The order of the rows reaches the layers through $\mathbf{E}_{pos}$ alone: attention and the MLP treat the tokens as a
set, and so does an answer that is read from [CLS] or from the mean of the patches. A second map of the pixels in its
place carries no order at all.

Source: Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, equation 1 and section 3.1.
"""


def draw(cut: Cut) -> None:
    """The three terms of z0 as heat maps, and how large each is."""
    if not cut.able.positions:
        page.say(
            ":gray[A Swin has no [CLS] and adds no positions: its sequence is its patches times E, normalised, on"
            " their grid.]"
        )
        return
    positions = position_rows(cut.found.table, cut.layout.num_tokens, len(cut.found.weight))
    scene = plots.Scene(cut.shown, cut.values, cut.found.prefix, cut.patch_px)
    payload = plots.sequence(
        scene,
        cut.found.tokens,
        positions,
        added=cut.found.table is not None,
        pin=selection.current().pin.token(cut.layout),
    )
    views.sequence(payload, key="patches.sequence")
    page.caption(describe(cut, positions[cut.layout.num_prefix_tokens :]))
    page.drawers("patches.sequence", math=MATHEMATICS, code=(VisionTransformer._embed,))


def describe(cut: Cut, positions: np.ndarray) -> str:
    """How many rows, and how large what the patches show and what is added for their places are.

    Args:
        cut: the picture in its model.
        positions: (N, D), what is added to the patches.
    """
    content, place = (float(np.sqrt(np.mean(part**2))) for part in (cut.found.tokens, positions))
    layout = cut.layout
    before = (
        f"{layout.num_prefix_tokens} of learned tokens and {layout.num_patches:,} of patches"
        if layout.prefix
        else "all of patches"
    )
    text = f"z₀ is what the first layer reads: {plural(layout.num_tokens, 'row', 'rows')}, {before}."
    if cut.found.table is None:
        return f"{text} Nothing is added for the position."
    if as_vit(cut.config).positions == "pixels":
        said = (
            "In the place of E_pos stands a second linear map of each patch's own pixels: it knows no place."
        )
        first, second = "E", "that map"
    else:
        whose = "each" if len(cut.found.table) == layout.num_tokens else "each patch"
        said = f"E_pos, a table with a row for {whose}, says where a patch lies."
        first, second = "the picture", "the place"
    text += f" {said} Typical size of a value (root mean square): {content:.3f} from {first}, {place:.3f} from {second}"
    if content:
        text += f", {place / content:.2f} times as large"
    return text + ". A size is no influence: what the layers make of either, the scrambled puzzle shows."
