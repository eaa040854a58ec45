"""The image cut into patches, one patch multiplied by one column of E, and the sequence that enters the first layer."""

from functools import partial

import streamlit as st

from pages.controls import downloads, popover, widgets
from pages.frame import page
from pages.lenses.patches import captions
from pages.lenses.patches.embedded_image import SEED, EmbeddedImage
from pages.selection import selection
from pages.views.register import register
from vitviz.analysis.patches import patchify, position_rows
from vitviz.config_fields import format_size, join_size
from vitviz.csv_table import Columns, columns_of
from vitviz.lessons import formula_measures, lesson
from vitviz.models import vit
from vitviz.models.abilities import abilities, as_cut
from vitviz.plots import patches as plots
from vitviz.text import plain, plural

_mount_stage = register(__file__, "patches_stage")
_mount_sequence = register(__file__, "patches_sequence", "patches_pair", "../../views/heat_grid")
KEY = "patches.stage"
_QUESTION = lesson.Question(
    "224 × 224 px in patches of 16 × 16: how many patches?", formula_measures.PatchCount(224, 16)
)


def draw(image: EmbeddedImage, options: popover.Popover) -> None:
    """Draw the patches, the selected patch and the shapes; the column control goes into `options`."""
    with options:
        column = widgets.number(
            "patches.column",
            "Column of E",
            1,
            image.config.embed_dim,
            1,
            help="Each column of the embedding matrix E gives one of a token's D values.",
        )
    scene = plots.CutImage(image.pixels, image.values, image.embedding.prefix, image.patch_px)
    pin = selection.get_current().pin.token(image.layout)
    _mount_stage(
        plots.stage(scene, image.embedding, pin=pin, column=column - 1),
        key=KEY,
        triggers=("pin", "column"),
        on_change=partial(selection.apply_click, KEY, column="patches.column"),
    )
    page.caption(captions.describe_patches(image))
    dim, values = image.embedding.weight.shape
    count = len(image.embedding.tokens)
    shapes = {"x": (1, *image.values.shape), "x_p": (1, count, values), "E": (values, dim)}
    page.shapes(**shapes, **{"x_p·E": (1, count, dim), "z0": (1, image.layout.num_tokens, dim)})
    page.drawers(
        "patches",
        math=page.read_math(__file__),
        code=(type(image.model.get_submodule("patch_embed")).forward, patchify),
        numbers=partial(_draw_downloads, image),
        ask=_QUESTION,
    )


def draw_model_note(image: EmbeddedImage) -> None:
    """Draw a note where E is random or the image size differs from the model's."""
    choice = image.model_choice
    if not image.original_patch_size:
        st.markdown(
            f":violet-badge[:material/casino: random E, seed {SEED}] {plain(choice.title)} has"
            f" {as_cut(choice.config).patch_size} px patches; {image.patch_px} px patches are shown with a random"
            f" model of {plural(len(image.vit.blocks), 'layer')}."
        )
        return
    page.untrained_note(choice.trained_on)
    if not image.original_image_size:
        st.markdown(
            f":blue-badge[:material/open_in_full: resized] {format_size(join_size(image.values.shape[1:]))} px instead"
            f" of {format_size(choice.config.image_size)}: E is unchanged; learned position embeddings are"
            " interpolated."
        )


def _draw_downloads(image: EmbeddedImage) -> None:
    tokens, flat = image.embedding.tokens, patchify(image.values, image.patch_px)
    height, width = image.values.shape[1:]
    st.markdown(
        f"Tokens x_p E: {len(tokens):,} × {tokens.shape[1]:,} · flattened patches: {len(flat):,} × {flat.shape[1]:,},"
        f" in the order channel, row, column · image: {height} × {width} px"
    )
    with st.container(horizontal=True):
        downloads.csv("Tokens (CSV)", _list_rows(tokens, "d"), "tokens.csv", "patches.csv_tokens")
        downloads.csv("Flattened patches (CSV)", _list_rows(flat, "k"), "patches.csv", "patches.csv_patches")
        downloads.download(
            "Separated patches (PNG)",
            lambda: plots.png(plots.separate_patches(image.pixels, image.patch_px)),
            "patches.png",
            "patches.png",
        )


def _list_rows(matrix: plots.FloatArray, letter: str) -> Columns:
    """Return one row per patch, counted from 1, with columns d1, d2 and so on."""
    names = [f"{letter}{i + 1}" for i in range(matrix.shape[1])]
    return {"patch": range(1, len(matrix) + 1)} | columns_of(matrix, names)


def draw_sequence(image: EmbeddedImage) -> None:
    if not abilities(image.config).positions:
        page.markdown(
            ":gray[A Swin has no [CLS] and no position embedding: its sequence is its patch embeddings, normalised,"
            " on their grid.]"
        )
        return
    embedding, layout = image.embedding, image.layout
    positions = position_rows(embedding.table, layout.num_tokens, len(embedding.weight))
    scene = plots.CutImage(image.pixels, image.values, embedding.prefix, image.patch_px)
    payload = plots.sequence(
        scene,
        embedding.tokens,
        positions,
        added=embedding.table is not None,
        pin=selection.get_current().pin.token(layout),
    )
    _mount_sequence(payload, key="patches.sequence")
    page.caption(captions.describe_magnitudes(image, positions[layout.num_prefix_tokens :]))
    page.drawers(
        "patches.sequence",
        math=page.read_math(__file__, section="token_sequence"),
        code=(vit.VisionTransformer._embed,),
    )
