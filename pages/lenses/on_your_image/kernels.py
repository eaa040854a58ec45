"""Compare one kernel of a CNN with one head of a ViT on two images: fixed against computed weights."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.lenses.on_your_image import compared_models
from pages.lenses.on_your_image.compared_models import Comparison, find_family
from pages.questions import prediction_gate
from pages.selection import selection, substitutes
from pages.stores import shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.figures import draw_heat_grid
from vitviz.analysis.attention import readout_row, shared_mass
from vitviz.data.datasets import default_pictures
from vitviz.models.abilities import as_vit
from vitviz.plots.heat_grid import HeatPanel, PanelRow, image_panel, map_panel, pack_heat_rows
from vitviz.probe.layers import write_call
from vitviz.text import percent

ATTENTION = ("blocks.*.attn",)
FIRST = "stem.0.weight"  # the CNN's first kernels
SECOND_NUMBER = 65  # default of the second image; the one before if that is the first image
SHARES = {  # of the attention weights, in quarters
    "0": "Less than a quarter",
    "1": "A quarter to a half",
    "2": "A half to three quarters",
    "3": "Three quarters or more",
}


def draw() -> None:
    cnn, vit = find_pair()
    if cnn is None or vit is None:
        st.info("This section needs a CNN and a ViT with the same input format; one of them is missing.")
        return
    current = selection.get_current()
    compared = Comparison((cnn, vit), current.image, current.offset)
    kernels: NDArray[np.float32] = shared_cache.load_model(cnn).model.state_dict()[FIRST].numpy()
    most_varied = int(_read_maps(cnn, compared.image, compared).std(axis=(0, 1)).argmax()) + 1
    kernel, layer, head, second = draw_controls(most_varied, kernels, vit, compared.image)
    second_image = name_second_image(vit, second)
    if second_image == compared.image:
        st.info("Both images are the same. Choose another second image.")
        return
    images = (compared.image, second_image)
    rows = [read_attention(vit, image, compared) for image in images]
    shared = shared_mass(rows[0], rows[1])
    stage = compared_models.draw_stage("kernels")
    revealed = prediction_gate.ask_options(
        "on_picture.stays",
        (cnn.key, vit.key),
        "A kernel has the same weights for every image. What share of their attention weights do the ViT's heads keep"
        " between these two images, on average?",
        SHARES,
        lambda guess: judge_prediction(float(shared.mean()), guess),
    ).is_answered()
    left, right = stage.columns(2, gap="large")
    with left:
        draw_kernel(compared, cnn, kernels, kernel - 1, images)
    with right:
        st.subheader(f"{compared_models.shorten_title(vit)}: one head", anchor=False)
        draw_head(compared, vit, images, [row[layer - 1, head - 1] for row in rows], revealed)
        page.caption(
            describe_head(shared, layer, head)
            if revealed
            else "Predict to see this head's weights on the second image."
        )
    page.findings("on_your_picture.kernels")
    page.drawers(
        "on_picture.kernels",
        math=page.read_math(__file__),
        code=(shared_mass, readout_row),
        call=lambda: write_call(f"blocks.{layer - 1}.attn"),
    )


def find_pair() -> tuple[ModelChoice | None, ModelChoice | None]:
    """Return the best CNN and the best plain ViT among the comparable models."""
    peers = compared_models.list_peers(selection.get_model_choice())
    cnn = next((choice for choice in peers if find_family(choice.config) == "CNN"), None)
    vit = next((choice for choice in peers if substitutes.is_plain_vit(choice.config)), None)
    return cnn, vit


def draw_controls(
    default_kernel: int, kernels: NDArray[np.float32], vit: ModelChoice, first_image: str
) -> tuple[int, int, int, int]:
    """Draw the controls; return kernel, layer and head, all from 1, and the number of the second image.

    Args:
        default_kernel: the one whose map varies most on the first image.
    """
    config = as_vit(vit.config)
    count = shared_cache.count_test_images(default_pictures(vit.trained_on, vit.preparation.in_chans))
    default = min(SECOND_NUMBER, count - 1)
    default -= name_second_image(vit, default) == first_image
    with page.row():
        with st.container(width=200):
            kernel = widgets.slider("on_picture.kernel", "Kernel of the CNN", 1, len(kernels), default_kernel)
        with st.container(width=168):
            layer = widgets.slider("on_picture.layer", "Layer of the ViT", 1, config.depth, config.depth)
        with st.container(width=168):
            head = widgets.slider("on_picture.head", "Head", 1, config.num_heads, 1)
        with st.container(width=168):
            second = widgets.number("on_picture.second", "Second image", 0, count - 1, default)
    return kernel, layer, head, second


def name_second_image(vit: ModelChoice, number: int) -> str:
    """Return the key of a test image of the dataset nearest to the model's training data."""
    return f"{default_pictures(vit.trained_on, vit.preparation.in_chans)}:{number}"


def draw_kernel(
    compared: Comparison, cnn: ModelChoice, kernels: NDArray[np.float32], kernel: int, images: Sequence[str]
) -> None:
    """Draw the kernel's weights, which are equal for both images, and its feature map of each image."""
    st.subheader(f"{compared_models.shorten_title(cnn)}: one kernel of the first layer", anchor=False)
    weights = kernels[kernel].mean(axis=0)
    largest_weight = float(np.abs(weights).max()) or 1.0
    maps = [_read_maps(cnn, image, compared)[..., kernel] for image in images]
    largest_response = max(float(feature_map.max()) for feature_map in maps) or 1.0
    size = "{} × {}".format(*weights.shape)
    drawn = map_panel("Weights", weights, size, "signed", largest_weight)
    panels = [
        (
            drawn,
            map_panel(
                "Feature map", feature_map, f"up to {feature_map.max():.2f}", "amount", largest_response
            ),
        )
        for feature_map in maps
    ]
    _draw_images(compared, images, panels, "on_picture.kernel_maps")
    mean_note = f" Drawn: the mean over {kernels.shape[1]} input channels." if kernels.shape[1] > 1 else ""
    page.caption(
        f"Kernel {kernel + 1} applies the same {weights.size} weights to both images, at {maps[0].size:,} positions."
        f"{mean_note}"
    )


def judge_prediction(share: float, guess: str) -> str:
    """Return the verdict on a prediction, a key of `SHARES`; share: the mean overlap over all heads, in [0, 1]."""
    right = str(min(int(4 * share), 3))
    return (
        f"Your prediction, {SHARES[guess].lower()}, is {'correct' if guess == right else 'wrong'}: the heads keep"
        f" {percent(share, 0)} of their weights on average."
    )


def draw_head(
    compared: Comparison,
    vit: ModelChoice,
    images: Sequence[str],
    rows: Sequence[NDArray[np.float32]],
    revealed: bool,
) -> None:
    """Draw a head's attention weights from the readout token to the patches, on each image.

    Args:
        rows: of each image, (prefix and patches,).
        revealed: False draws only the first image's weights.
    """
    grid = shared_cache.load_model(vit).layout(compared.input_px, compared.input_px).grid
    maps = [weights[-grid[0] * grid[1] :].reshape(grid) for weights in rows]
    largest = max(float(weights.max()) for weights in maps) or 1.0
    panels = [
        (map_panel("Weights", weights, f"up to {percent(weights.max())}", "amount", largest),)
        for weights in maps
    ]
    _draw_images(compared, images, panels if revealed else [panels[0], ()], "on_picture.head_maps")


def _draw_images(
    compared: Comparison,
    images: Sequence[str],
    panels: Sequence[tuple[HeatPanel, ...]],
    key: str,
) -> None:
    """Draw both images in rows, each with its panels."""
    inputs = [
        shared_cache.prepare_image(image, compared.preparation, compared.offset).shown for image in images
    ]
    rows = [
        PanelRow(name, "", (image_panel("Image", pixels, "model input"), *row))
        for name, pixels, row in zip(("First image", "Second image"), inputs, panels, strict=True)
    ]
    draw_heat_grid(pack_heat_rows(rows), key=key)


def describe_head(shared: NDArray[np.floating], layer: int, head: int) -> str:
    """Return a caption on the overlap of this head's weights and on the extremes; shared: (layers, heads)."""
    least, most = (np.unravel_index(at, shared.shape) for at in (shared.argmin(), shared.argmax()))

    def name_head(at: Sequence[np.intp] | tuple[np.intp, ...]) -> str:
        return f"layer {int(at[0]) + 1}, head {int(at[1]) + 1} ({percent(float(shared[tuple(at)]), 0)})"

    overlap = float(shared[layer - 1, head - 1])
    return (
        f"Head {head} of layer {layer} keeps {percent(overlap, 0)} of [CLS]'s attention weights between the two images;"
        f" a kernel keeps 100\N{NO-BREAK SPACE}%. Highest of {shared.size} heads: {name_head(most)}; lowest:"
        f" {name_head(least)}; mean: {percent(float(shared.mean()), 0)}."
    )


def read_attention(vit: ModelChoice, image: str, compared: Comparison) -> NDArray[np.float32]:
    """Return (layers, heads, tokens), every head's attention weights from [CLS]."""
    captured = shared_cache.capture_activations(vit, None, image, ATTENTION, compared.offset)
    rows: NDArray[np.float32] = captured.attention()[:, 0, :, 0]
    return rows


def _read_maps(cnn: ModelChoice, image: str, compared: Comparison) -> NDArray[np.float32]:
    """Return (rows, cols, kernels), after norm and ReLU."""
    capture = shared_cache.capture_activations(cnn, None, image, ("stem",), compared.offset)
    maps: NDArray[np.float32] = capture["stem"][0].transpose(1, 2, 0)
    return maps
