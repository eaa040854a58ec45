"""The sequence that enters the first layer: patch embeddings, prefix tokens and position embeddings."""

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


def draw(image: EmbeddedImage) -> None:
    if not abilities(image.config).positions:
        page.markdown(
            ":gray[A Swin has no [CLS] and no position embedding: its sequence is its patch embeddings, normalised,"
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
    page.drawers("patches.sequence", math=page.read_math(__file__), code=(VisionTransformer._embed,))
