"""Cost over the number of tokens: linear maps and attention, by formula."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.views.figures import draw_chart
from pages.which_model import captions
from vitviz.models import published_results
from vitviz.plots import cost as plots
from vitviz.plots.theme import HEADS

SIDES = (4, 7, 14, 28, 56, 112, 224)  # tokens along a side
PATCHES_PX = (8, 14, 16, 32)
IMAGES_PX = (224, 448, 896, 1792)  # multiples of every patch size
WINDOW = 7
FACTORS = (2, 4, 8, 16)  # of the attention products, if the side of the image doubles
WIDTHS = {size.name.partition("/")[0]: size.width for size in published_results.SIZES}


@dataclass(frozen=True)
class CostControls(widgets.ControlValues, page="which_model"):
    """The model size, which sets the width, the sides of patch and image in px, and the prediction of `FACTORS`."""

    size: str
    patch_px: int
    image_px: int
    times: str = ""

    @property
    def width(self) -> int:
        """D."""
        return WIDTHS[self.size]

    @property
    def token_count(self) -> int:
        """N."""
        return (self.image_px // self.patch_px) ** 2


TokenCounts = TypeVar("TokenCounts", float, NDArray[np.float64])


def count_linear_adds(tokens: TokenCounts, dim: int) -> TokenCounts:
    """Return 12 N D^2, the multiply-adds of one layer's linear maps (q, k, v, projection, MLP of 4 D)."""
    return 12 * tokens * dim**2


def count_attention_adds(tokens: TokenCounts, dim: int) -> TokenCounts:
    """Return 2 N^2 D, the multiply-adds of Q K^T and A V in one layer."""
    return 2 * tokens**2 * dim


def draw() -> None:
    with page.row():
        size = widgets.segmented(CostControls.key("size"), "Size", tuple(WIDTHS), "ViT-B")
        patch_px = widgets.segmented(CostControls.key("patch_px"), "Patch P, px", PATCHES_PX, 16)
        image_px = widgets.segmented(CostControls.key("image_px"), "Image, px", IMAGES_PX, 224)
    controls = CostControls(size, patch_px, image_px)
    predicted = _ask_growth(controls)
    _draw_formula(controls, predicted)
    selection.link_to("swin", "Measure the runtime on this server", **{"swin.view": "cost"})
    page.drawers(
        "which_model.length",
        math=page.read_math(__file__),
        code=(count_linear_adds, count_attention_adds),
    )


def _ask_growth(controls: CostControls) -> bool:
    """Ask how the cost of attention grows with the image; return True if its curve may be shown."""
    doubled = replace(controls, image_px=2 * controls.image_px)
    return prediction_gate.ask_options(
        CostControls.key("times"),
        "length",
        f"Twice the image side gives {doubled.token_count:,} instead of {controls.token_count:,} tokens. By what"
        " factor do the multiply-adds of QKᵀ and AV grow?",
        {str(factor): f"{factor} times" for factor in FACTORS},
        lambda prediction: judge_prediction(controls, doubled, prediction),
    ).is_answered()


def judge_prediction(before: CostControls, after: CostControls, prediction: str) -> str:
    products = count_attention_adds(after.token_count, after.width) / count_attention_adds(
        before.token_count, before.width
    )
    linear = count_linear_adds(after.token_count, after.width) / count_linear_adds(
        before.token_count, before.width
    )
    computed = f"{products:g} times for attention, {linear:g} times for the linear maps"
    if float(prediction) == products:
        return f"Your prediction is correct: {computed}."
    return f"Your prediction: {prediction} times. Computed: {computed}."


def _draw_formula(controls: CostControls, predicted: bool) -> None:
    st.markdown(f"Multiply-adds of one layer, D = {controls.width:,}")
    count, width = float(controls.token_count), controls.width
    tokens = np.array(SIDES, float) ** 2
    linear, products = count_linear_adds(tokens, width), count_attention_adds(tokens, width)
    lines = [plots.Line("linear maps", linear, HEADS[3], "right")]
    if predicted:
        lines += [
            plots.Line("attention", products, HEADS[4], "right"),
            plots.Line(f"in windows of {WINDOW}", 2 * WINDOW**2 * tokens * width, HEADS[1], "right"),
        ]
    draw_chart(
        plots.lines_figure(
            tokens=tokens,
            lines=lines,
            labels=["" if i % 2 else _label_tokens(side) for i, side in enumerate(SIDES)],
            titles=("tokens N (side)", "multiply-adds", ""),
            mode=selection.get_theme(),
            height_px=360,
            at=(count, f"N = {controls.token_count:,}"),
        ),
        "which_model.length",
    )
    if not predicted:
        page.caption("Predict to see attention; these are the linear maps.")
        return
    page.caption(
        captions.describe_formula(
            tokens,
            (linear, products),
            (count_linear_adds(count, width), count_attention_adds(count, width)),
            (controls.token_count, controls.patch_px, controls.image_px, width),
        )
    )


def _label_tokens(side: int) -> str:
    """Return a tick of the axis: the number of tokens, and the sides of their grid below it."""
    return f"{side**2:,}\n{side}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{side}"
