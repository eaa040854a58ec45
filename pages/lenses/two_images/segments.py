"""Show what tokens are used for: foreground, segments, and the same segments on a second image."""

from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.two_images import captions, pair_controls
from pages.lenses.two_images.image_pair import ImagePair, SegmentedPair
from pages.views.figures import draw_heat_grid
from vitviz.analysis import attention, token_colours
from vitviz.papers import cite
from vitviz.plots.heat_grid import Fact, GridStyle, HeatPanel, pack_heat_grid
from vitviz.plots.theme import HEADS, PALETTES
from vitviz.probe.capture import limit_pools

VIEW = "two_images.uses"
MOST_SEGMENTS = len(HEADS)
ALPHA = 165


def draw(pair: ImagePair, row: DeltaGenerator) -> None:
    with row:
        layer = pair_controls.choose_layer(pair)
        with st.container(width=130):
            count = widgets.slider("two_images.segments", "Segments", 2, MOST_SEGMENTS, 4)
        able = pair.subject.able
        with page.options("two_images.uses"):
            share = pair_controls.choose_share(None if able.heads_over_all else able.heads_over_all.why_not)
        pair_controls.draw_own_image()
    page.untrained_note(pair.model.trained_on)
    segmented = segment_pair(pair, layer, int(count), share)
    draw_heat_grid(build_message(pair, layer, segmented), key=VIEW)
    page.caption(captions.describe_segments(pair, layer, segmented))
    page.markdown(cite(USES))
    page.drawers(
        "two_images.uses",
        math=page.read_math(__file__),
        code=(attention.kept_by_mass, token_colours.cluster_tokens, token_colours.split_by_component),
        call=lambda: pair.layers[layer].write_call(),
        numbers=partial(draw_numbers, segmented),
    )


def segment_pair(pair: ImagePair, layer: int, count: int, share: float) -> SegmentedPair:
    """Cluster the first image's tokens, and assign the second image's tokens to the nearest cluster."""
    first, second = pair.images
    by_attention = first.activations.attention is not None
    count = min(count, len(first.flat(layer)))
    with limit_pools(1 if pair.is_small else None):
        centres = token_colours.cluster_tokens(first.flat(layer), count)
        labels = [
            token_colours.assign_tokens(image.flat(layer), centres).reshape(image.grid(layer))
            for image in pair.images
        ]
    method = "attention" if by_attention else "component"
    return SegmentedPair(first.foreground(method, share, layer), by_attention, labels[0], labels[1])


def build_message(pair: ImagePair, layer: int, segmented: SegmentedPair) -> bytes:
    """Pack the foreground, the segments, and the same segments on the second image."""
    first, second = pair.images
    mask = segmented.foreground
    cells = np.zeros((*mask.shape, 4), np.uint8)
    cells[mask] = _rgba(PALETTES["light"].query)
    weights = first.activations.attention if segmented.by_attention else None
    values = mask.astype(np.float32) if weights is None else 100 * weights / max(float(weights.sum()), 1e-12)
    fact = Fact("foreground") if weights is None else Fact("attention", 1, " %")
    title = "First component" if weights is None else "Most attended patches"
    panels = [
        HeatPanel(
            title, first.grid(layer), [fact], values.reshape(1, -1), first.photo, cells, note=captions.POINT
        )
    ]
    colours = np.array([_rgba(color) for color in HEADS], np.uint8)
    for title, image, labels in (
        ("Segments", first, segmented.first),
        (f"The same segments: {second.title}", second, segmented.second),
    ):
        values, cells = labels.reshape(1, -1) + 1.0, colours[labels]
        panels.append(HeatPanel(title, image.grid(layer), [Fact("segment")], values, image.photo, cells))
    return pack_heat_grid(panels, GridStyle("last"))


def _rgba(color: str) -> tuple[int, ...]:
    return *bytes.fromhex(color[1:]), ALPHA


def draw_numbers(segmented: SegmentedPair) -> None:
    columns: dict[str, list[object]] = {"image": [], "row": [], "column": [], "segment": []}
    for number, labels in enumerate((segmented.first, segmented.second), start=1):
        rows, cols = np.indices(labels.shape).reshape(2, -1) + 1
        columns["image"] += [number] * labels.size
        columns["row"] += rows.tolist()
        columns["column"] += cols.tolist()
        columns["segment"] += (labels.ravel() + 1).tolist()
    st.dataframe(columns, hide_index=True, height=240)
    downloads.csv("Segments (CSV)", columns, "segments.csv", "two_images.csv.uses")


USES = """
- **Detection**: a decoder reads boxes from the patch tokens ({carion2020}); a plain ViT can be the backbone ({li2022}).
- **Segmentation**: a linear layer or a small Transformer labels each patch token ({strudel2021}); the model of
  {kirillov2023} segments what a click points at.
- **Video**: tokens are small tubes of pixels over several frames ({arnab2021}).
- **Multimodal models**: a language model reads patch tokens as if they were words ({liu2023}).
- **CLIP**: a ViT and a text encoder share one space, so a sentence can classify an image ({radford2021}).
"""
