"""Controls that select an attention map and its drawing style, or the explained class and how rollout fuses heads."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.selection.attention_maps import Direction, MapSelection, name_head, select_weights
from pages.selection.subject import CapturedSubject, capture_attention
from pages.stores import published_weights, registry, shared_cache
from pages.views.explorer import ExplorerOptions
from vitviz.analysis.attention import Fusion, find_concentrated_head
from vitviz.models import abilities, token_layout
from vitviz.pin import Pin
from vitviz.plots.attention_images import Style
from vitviz.plots.attention_message import Head
from vitviz.plots.heat_grid import GridStyle
from vitviz.probe.explanation_maps import Recipe
from vitviz.text import percent

FUSIONS: tuple[Fusion, ...] = ("mean", "max", "min")
DIRECTIONS = {"row": "attends to", "column": "attended by"}
STYLES = {"overlay": "Overlay", "heat": "Heatmap", "dim": "Dim", "mask": "Mask"}
CONCENTRATED_HEAD = 3  # of the CIFAR-10 ViT's last layer on the page's first image
FROM_LAYER = (
    "The first layer of rollout, gradient-weighted rollout and LeGrad; AttnLRP shows the relevance of the tokens that"
    " enter it. Raw attention and gradient × input have no layers."
)
SAME_IMAGE = "The model input equals this image."


@dataclass(frozen=True)
class BackgroundControls:
    """The image under the maps (`seen`: the model's input, `grey`: without colours) and their interpolation."""

    seen: bool
    smooth: bool
    grey: bool

    def map_style(self, subject: CapturedSubject) -> GridStyle:
        """Return the style of maps side by side, whose arrow keys start at the pin."""
        start = selection.get_current().pin.cell(subject.layout.grid)
        return GridStyle(smooth=self.smooth, grey=self.grey, start=start)


@dataclass(frozen=True)
class MapControls:
    """The selected attention map, its style, and the image under it."""

    map_selection: MapSelection
    options: ExplorerOptions
    background: BackgroundControls


MOST_CLASSES = 50  # of the list, the most probable first
DISCARDS = tuple(round(0.05 * twentieth, 2) for twentieth in range(20))  # shares of a layer's weights
CLASS_KEY = "attention.class"  # `class` is a keyword, so it cannot be a field


def read_controls(subject: CapturedSubject) -> MapControls:
    with page.row():
        layer, head = read_layer_and_head(subject)
        with page.options("attention.look"):
            direction, style = _read_direction_and_style()
            scale = widgets.segmented(
                "attention.scale",
                "Scale of the small maps",
                {"map": "One per map", "shared": "Shared"},
            )
            share = widgets.slider(
                "attention.share",
                "Attention kept by the mask",
                0.1,
                0.95,
                0.6,
                0.05,
                why_not=None if style == "mask" else "Only used by the style 'Mask'.",
            )
            opacity = widgets.slider("attention.opacity", "Opacity", 0.1, 1.0, 0.9, 0.05)
            background = read_background(subject)
            grid = widgets.toggle("attention.grid", "Patch grid", True)
    options = ExplorerOptions(
        direction=direction,
        scale=scale,
        style=style,
        share=share,
        opacity=opacity,
        smooth=background.smooth,
        grey=background.grey,
        grid=grid,
    )
    return MapControls(MapSelection(layer, head, direction), options, background)


def read_layer_and_head(subject: CapturedSubject) -> tuple[int, Head]:
    """Draw the sliders of layer and head; the layer follows the model's until a user moves it."""
    heads = token_layout.heads_by_layer(subject.model.config)
    opening = published_weights.find_opening_map(subject.choice.key)
    first_layer, first_head = opening or (len(heads), _choose_head(subject, len(heads)))
    widgets.follow_default("attention.layer", first_layer)
    widgets.follow_default("attention.head", first_head)
    with st.container(width=120):
        layer = int(widgets.slider("attention.layer", "Layer", 1, len(heads), first_layer))
    with st.container(width=140):
        head: Head = widgets.select(
            "attention.head",
            "Head",
            [*range(1, heads[layer - 1] + 1), *FUSIONS],
            first_head,
            format_func=name_head,
            help="One head, or all heads of the layer fused by mean, maximum or minimum.",
        )
    return layer, head


def _choose_head(subject: CapturedSubject, last_layer: int) -> Head:
    """Return the head that the page opens on.

    On the image that the page opens on: the most concentrated one. In a photo model: the head of the last layer with
    the most concentrated map of [CLS]. For the user's own image in a model of small images, whose single heads tell
    little about a photo: the mean of heads.
    """
    if subject.image == registry.BY_SLUG["attention"].images[""]:
        return CONCENTRATED_HEAD
    is_photo_model = subject.choice.key.startswith(published_weights.KEY) and subject.able.cls_readout
    if subject.able.windows or not (is_photo_model or subject.image.startswith(shared_cache.UPLOAD)):
        return 1
    if not is_photo_model:
        return "mean"
    lines = select_weights(
        capture_attention(subject, last_layer), MapSelection(last_layer, 1), Pin(None, "cls")
    )
    return find_concentrated_head(lines[:, subject.layout.num_prefix_tokens :]) + 1


def _read_direction_and_style() -> tuple[Direction, Style]:
    direction = widgets.segmented(
        "attention.direction",
        "Direction",
        DIRECTIONS,
        help="Attends to: a row of the attention matrix (token as query). Attended by: a column (token as key).",
    )
    style = widgets.segmented(
        "attention.style",
        "Style",
        STYLES,
        help="Heatmap hides the image, Dim darkens low weights, Mask keeps the strongest patches (as DINO does).",
    )
    return cast(Direction, direction), cast(Style, style)


def read_background(subject: CapturedSubject, *, maps: bool = True) -> BackgroundControls:
    """Draw the toggles of the background; without `maps`, those about maps are disabled."""
    rows_px, cols_px = subject.prepared.shown.shape[:2]
    same = np.array_equal(subject.ground(seen=False).pixels, subject.prepared.shown)
    is_small = shared_cache.is_small_input(subject.model.preparation) and not same
    widgets.follow_default("attention.seen", is_small)
    seen = widgets.toggle(
        "attention.seen",
        "Show model input",
        is_small,
        help=f"Shows the image at the model's {rows_px} × {cols_px} px instead of the original crop.",
        why_not=SAME_IMAGE if same else None,
    )
    no_maps = None if maps else "Disabled: this view has no attention maps."
    smooth = widgets.toggle(
        "attention.smooth",
        "Smooth between patches",
        help="Interpolates the drawing; the model has one weight per patch.",
        why_not=no_maps,
    )
    grey = widgets.toggle(
        "attention.grey",
        "Greyscale image",
        help="An overlay is easier to see on a greyscale image.",
        why_not=no_maps,
    )
    return BackgroundControls(seen, smooth, grey)


def read_method_controls(
    subject: CapturedSubject, read_more: Callable[[], object] = lambda: None
) -> tuple[Recipe, BackgroundControls]:
    """Draw the controls of the methods; `read_more` draws a view's own control among the options."""
    able = subject.able.rollout
    layers = len(token_layout.heads_by_layer(subject.model.config)) if able else 1
    with page.row():
        with st.container(width=230):
            target = read_class(subject)
        if layers > 1:
            with st.container(width=150):
                first = widgets.slider("attention.from_layer", "From layer", 1, layers, 1, help=FROM_LAYER)
        with page.options("attention.recipe"):
            read_more()
            fusion, discard = _read_rollout(able)
            background = read_background(subject)
    return Recipe(target, fusion, discard, int(first) - 1 if layers > 1 else 0), background


def _read_rollout(rollout: abilities.Ability) -> tuple[Fusion, float]:
    fusion = widgets.segmented(
        "attention.fusion",
        "Rollout: fuse heads by",
        ["mean", "max", "min"],
        help="Applied in every layer before the product of layers.",
        why_not=None if rollout else rollout.why_not,
    )
    discard = widgets.select_slider(
        "attention.discard",
        "Rollout: discard",
        DISCARDS,
        0.0,
        format_func=lambda share: percent(share, 0),
        help="Drops the lowest weights of every layer; columns of prefix tokens stay.",
        why_not=None if rollout else rollout.why_not,
    )
    return cast(Fusion, fusion), float(discard)


def read_class(subject: CapturedSubject) -> int | None:
    """Return the explained class; None if the model has no classes."""
    label, able = "Explained class", subject.able.class_head
    if not able:
        st.selectbox(label, ["no classes"], disabled=True, help=able.why_not)
        return None
    probabilities = subject.probabilities
    order = np.argsort(-probabilities, kind="stable")[:MOST_CLASSES]

    def format_option(option: str | int) -> str:
        if isinstance(option, str):
            return f"predicted: {subject.classes[order[0]]}"
        return f"{subject.classes[option]}, {percent(probabilities[option])}"

    options: list[str | int] = ["top", *(int(i) for i in order)]
    option = widgets.select(CLASS_KEY, label, options, format_func=format_option)
    return int(order[0]) if isinstance(option, str) else option
