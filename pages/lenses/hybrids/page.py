"""Hybrids: a convolutional stem computes the tokens of a ViT."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import query_params, widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.selection import subject as subjects
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.figures import draw_chart
from vitviz.analysis.forward_pass import EmbeddedPatches, FeatureMaps, Journey
from vitviz.analysis.receptive_fields import enlarging, stem_field_box, stem_fields_px
from vitviz.config import ViTConfig
from vitviz.models import abilities, layers, parameter_count
from vitviz.plots import hybrids as plots
from vitviz.text import percent, plural

TOKENS = "tokens"


def draw() -> None:
    choice, step = selection.get_model_choice(), selection.get_current().step
    page.untrained_note(choice.trained_on)
    _draw_steps(choice, step, selection.get_current().image)


@st.fragment
def _draw_steps(choice: ModelChoice, step: int | None, image: str) -> None:
    config = abilities.as_vit(choice.config)
    names: dict[int | str, str] = {n + 1: f"Convolution {n + 1}" for n in range(len(config.stem))}
    names[TOKENS] = "Tokens"
    with page.row():
        number = widgets.segmented("hybrids.step", "Step", names, len(config.stem))
    journey = shared_cache.record_journey(choice, step, image, selection.get_current().offset)
    stage = st.container()  # the picture stands above its question
    predicted = _ask_receptive_field(config, choice.key)
    convolution = len(config.stem) if number == TOKENS else int(number)
    maps = get_feature_maps(journey)[convolution - 1]
    field_px = stem_fields_px(config)[convolution - 1]
    token = selection.get_current().pin.cell(config.grid)
    row, col = divmod(token, config.grid[1])
    rows, cols = maps.shape[1:]
    cell = row * rows // config.grid[0], col * cols // config.grid[1]  # the next convolution is centred on it
    left, right = stage.columns(2, gap="medium")
    with left:
        pixels = subjects.load_subject(choice, step, image).prepared.shown
        field = stem_field_box(cell, (rows, cols), field_px, config.image_shape, enlarging(config))
        box = field if predicted else compute_patch_box(config, token)
        draw_chart(plots.field_figure(pixels, box, selection.get_theme()), "hybrids.field")
    with right:
        if number == TOKENS:
            tokens = get_tokens(journey)
            draw_chart(plots.tokens_figure(tokens, token, selection.get_theme()), "hybrids.tokens")
        else:
            draw_chart(plots.sheet_figure(maps, cell, selection.get_theme()), "hybrids.maps")
    if not predicted:
        side, where = config.patch_size, f"this position in all {len(maps)} feature maps"
        where = "its token" if number == TOKENS else where
        page.caption(f"Outlined: the {side} × {side} px of one position, and {where}.")
    elif number == TOKENS:
        page.caption(describe_tokens(config, maps, get_tokens(journey), cell, field_px))
    else:
        page.caption(describe_feature_maps(config, maps, convolution, cell, field_px))
    page.findings("hyperparameter.stem")
    page.drawers("hybrids.stem", math=page.read_math(__file__), code=(layers.ConvStem,))


def _ask_receptive_field(config: ViTConfig, key: str) -> bool:
    """Ask for the receptive field after all convolutions; return True if it may be shown."""
    patch_px, field_px, image_px = (
        config.patch_size,
        round(stem_fields_px(config)[-1]),
        min(config.image_shape),
    )
    sides = sorted({patch_px, field_px, min(4 * patch_px, image_px), image_px})
    options = {f"{px}": f"{px} × {px} px" for px in sides}
    options[f"{patch_px}"] += ", its patch"
    shorter = isinstance(config.image_size, tuple)
    options[f"{image_px}"] += ", as wide as the image's shorter side" if shorter else ", the whole image"

    def judge(prediction: str) -> str:
        computed = format_field(config, field_px)
        if prediction == f"{field_px}":
            return f"Your prediction is correct: {computed}."
        return f"Your prediction: {prediction} × {prediction} px. Computed: {computed}."

    return prediction_gate.ask_options(
        "hybrids.reads",
        key,
        f"After {plural(len(config.stem), 'convolution')} of 3 × 3, neighbouring positions of a feature map are"
        f" {patch_px} px apart. How large is the receptive field of one position?",
        options,
        judge,
    ).is_answered()


def compute_patch_box(config: ViTConfig, token: int) -> tuple[float, float, float, float]:
    """Return (left, top, right, bottom) of a token's patch, in px."""
    side = config.patch_size
    row, col = divmod(token, config.grid[1])
    return col * side, row * side, (col + 1) * side, (row + 1) * side


def get_feature_maps(journey: Journey) -> list[np.ndarray]:
    """Return (channels, rows, cols) after each convolution."""
    (content,) = (part.content for part in journey.parts if part.id == "stem")
    assert isinstance(content, FeatureMaps)
    return [level.maps for level in content.levels]


def get_tokens(journey: Journey) -> np.ndarray:
    """Return the stem's output (N, D)."""
    (content,) = (part.content for part in journey.parts if part.id == "embed")
    assert isinstance(content, EmbeddedPatches)
    return content.vectors


def format_field(config: ViTConfig, field_px: float) -> str:
    """Return a receptive field in image pixels: '9 × 9 px'; 'about …' if the stem enlarges the image first."""
    side = round(field_px)
    return f"{'' if enlarging(config) == 1 else 'about '}{side} × {side} px"


def describe_feature_maps(
    config: ViTConfig, maps: NDArray[np.floating], number: int, cell: tuple[int, int], field_px: float
) -> str:
    """Return shape, receptive field and sparsity of the feature maps (C, H, W) after a convolution, from 1."""
    factor = enlarging(config)
    height, width = (round(side * factor) for side in config.image_shape)
    enlarged = "" if factor == 1 else f" (the image is enlarged to {height} × {width} px first)"
    zero_maps = int((maps.max(axis=(1, 2)) == 0).sum())
    return (
        f"Convolution {number} outputs {maps.shape[0]} feature maps of {maps.shape[1]} × {maps.shape[2]}, each on its"
        f" own scale from 0. The outlined position, row {cell[0] + 1}, column {cell[1] + 1}, has a receptive field of"
        f" {format_field(config, field_px)}{enlarged}. ReLU sets {percent(float((maps == 0).mean()))} of the values to"
        f" 0; {plural(zero_maps, 'map is', 'maps are')} zero everywhere."
    )


def describe_tokens(
    config: ViTConfig,
    maps: NDArray[np.floating],
    tokens: NDArray[np.floating],
    cell: tuple[int, int],
    field_px: float,
) -> str:
    """Return how the last feature maps (C, H, W) become tokens (N, D), and the cost of the stem."""
    weights = parameter_count.parameters(config)
    adds = parameter_count.multiply_adds(config, config.image_size)
    channels, rows, cols = maps.shape
    return (
        f"A {channels} × {config.embed_dim} matrix maps each of the {rows} × {cols} positions to a token:"
        f" {plural(len(tokens), 'token')} of {tokens.shape[1]}. The outlined one, row {cell[0] + 1}, column"
        f" {cell[1] + 1}, has a receptive field of {format_field(config, field_px)}, not the {config.patch_size} ×"
        f" {config.patch_size} px of a patch. The stem holds"
        f" {percent(weights[parameter_count.EMBEDDING] / sum(weights.values()))} of the parameters and"
        f" {percent(adds[parameter_count.EMBEDDING] / sum(adds.values()))} of the multiply-adds."
    )


page.header("hybrids")
query_params.keep_page_pending("hybrids")
draw()
with page.row():
    selection.link_to("studies", "Hybrids over training", **{"studies.study": "hybrid_training"})
    selection.link_to(
        "studies", "Attention over convolutions", **{"studies.study": "attention_over_convolutions"}
    )
    selection.link_to("studies", "One token", **{"studies.study": "one_token"})
