"""The sequence that enters the first layer: patch embeddings, prefix tokens and position embeddings."""

from __future__ import annotations

from pages.frame import page
from pages.lenses.patches.captions import describe_magnitudes
from pages.lenses.patches.embedded_image import EmbeddedImage
from pages.selection import selection
from pages.views.register import register
from vitviz.analysis.patches import position_rows
from vitviz.models.abilities import abilities
from vitviz.models.vit import VisionTransformer
from vitviz.plots import patches as plots

_mount_sequence = register(__file__, "patches_sequence", "patches_pair")
MATHEMATICS = r"""
$$
\mathbf{z}_0 = [\mathbf{x}_\text{class};\ \mathbf{x}^1_p\mathbf{E};\ \dots;\ \mathbf{x}^N_p\mathbf{E}]
+ \mathbf{E}_{pos}
$$

The order of the rows reaches the layers only through $\mathbf{E}_{pos}$: attention and the MLP treat the tokens as a
set, and so does a prediction read from [CLS] or from the mean of the patches. A second linear map of the pixels in its
place carries no order.

Source: Dosovitskiy et al. 2021, *An Image is Worth 16×16 Words*, equation 1 and section 3.1.
"""


def draw(image: EmbeddedImage) -> None:
    """Draw the terms of z0 as heat maps and compare their magnitudes."""
    if not abilities(image.config).positions:
        page.markdown(
            ":gray[A Swin has no [CLS] and no position embedding: its sequence is its patch embeddings, normalized,"
            " on their grid.]"
        )
        return
    embedding, layout = image.embedding, image.layout
    positions = position_rows(embedding.table, layout.num_tokens, len(embedding.weight))
    scene = plots.Scene(image.pixels, image.values, embedding.prefix, image.patch_px)
    payload = plots.sequence(
        scene,
        embedding.tokens,
        positions,
        added=embedding.table is not None,
        pin=selection.get_current().pin.token(layout),
    )
    _mount_sequence(payload, key="patches.sequence")
    page.caption(describe_magnitudes(image, positions[layout.num_prefix_tokens :]))
    page.drawers("patches.sequence", math=MATHEMATICS, code=(VisionTransformer._embed,))
