"""How the attention page looks at its subject: which map, and how it lies over the picture; one value each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.selection.attention_maps import Direction, Gaze, head_name
from pages.selection.subject import Subject
from pages.views.explorer import Options
from vitviz.analysis.attention import Fusion
from vitviz.models.layer_order import heads_by_layer
from vitviz.plots.attention import Head, MapsDrawn
from vitviz.plots.attention_images import Drawn, Style

FUSIONS: tuple[Fusion, ...] = ("mean", "max", "min")
DIRECTIONS = {"row": "looks at", "column": "is seen by"}
STYLES = {"overlay": "Overlay", "heat": "Heat", "dim": "Dim", "mask": "Mask"}
AS_IT_IS = "The model sees this picture as it is."


@dataclass(frozen=True)
class Ground(widgets.Chosen, page="attention"):
    """What maps are drawn on, and whether they run smoothly from patch to patch."""

    seen: bool
    smooth: bool
    grey: bool

    def maps(self, subject: Subject) -> MapsDrawn:
        """The same for maps side by side; arrow keys begin at the pin."""
        return MapsDrawn(self.smooth, self.grey, selection.current().pin.cell(subject.layout.grid))

    def drawn(self) -> Drawn:
        """The same for a picture to keep, as maps side by side are drawn."""
        return Drawn("overlay", opacity=1.0, smooth=self.smooth, grey=self.grey, mode=selection.mode())


@dataclass(frozen=True)
class Look(widgets.Chosen, page="attention"):
    """Which map is on the stage, and how it is drawn; layers and heads count from 1."""

    layer: int
    head: Head
    direction: Direction
    style: Style
    scale: str
    share: float
    opacity: float
    grid: bool
    ground: Ground

    @property
    def gaze(self) -> Gaze:
        """Whose attention it is."""
        return Gaze(self.layer, self.head, self.direction)

    @property
    def options(self) -> Options:
        """The same for the browser."""
        return Options(
            direction=self.direction,
            scale=self.scale,
            style=self.style,
            share=self.share,
            opacity=self.opacity,
            smooth=self.ground.smooth,
            grey=self.ground.grey,
            grid=self.grid,
        )

    def drawn(self) -> Drawn:
        """The same for pictures to keep."""
        return Drawn(
            self.style, self.share, self.opacity, self.ground.smooth, self.ground.grey, selection.mode()
        )


def choose(subject: Subject) -> Look:
    """The controls above an explorer."""
    with page.row():
        layer, head = layer_and_head(subject)
        with page.options("attention.look"):
            direction, style = _direction_and_style()
            scale = widgets.segmented(
                Look.key("scale"),
                "Scale of the small maps",
                ["shared", "map"],
                format_func={"shared": "One for all", "map": "Each its own"}.__getitem__,
            )
            share = widgets.slider(
                Look.key("share"),
                "Mask keeps this share of the mass",
                0.1,
                0.95,
                0.6,
                0.05,
                why_not=None if style == "mask" else "Only the mask keeps a share.",
            )
            opacity = widgets.slider(Look.key("opacity"), "Opacity", 0.1, 1.0, 0.9, 0.05)
            ground = choose_ground(subject)
            grid = widgets.toggle(Look.key("grid"), "Patch grid", True)
    return Look(
        layer=layer,
        head=head,
        direction=direction,
        style=style,
        scale=scale,
        share=share,
        opacity=opacity,
        grid=grid,
        ground=ground,
    )


def layer_and_head(subject: Subject) -> tuple[int, Head]:
    """Which maps travel; the last layer, until a visitor chooses one."""
    heads = heads_by_layer(subject.model.config)
    widgets.follow_default(Look.key("layer"), len(heads))
    with st.container(width=168):
        layer = int(widgets.slider(Look.key("layer"), "Layer", 1, len(heads), len(heads)))
    with st.container(width=168):
        head: Head = widgets.select(
            Look.key("head"),
            "Head",
            [*range(1, heads[layer - 1] + 1), *FUSIONS],
            format_func=head_name,
            help="One head, or all heads of the layer fused by their mean, maximum or minimum.",
        )
    return layer, head


def _direction_and_style() -> tuple[Direction, Style]:
    """How it is read and drawn; the browser redraws at once, no weight travels."""
    direction = widgets.segmented(
        Look.key("direction"),
        "The query",
        list(DIRECTIONS),
        format_func=DIRECTIONS.__getitem__,
        help="A row of the attention matrix: where the query looks. A column: who looks at it.",
    )
    style = widgets.segmented(
        Look.key("style"),
        "Drawn as",
        list(STYLES),
        format_func=STYLES.__getitem__,
        help="Overlay: weights over the picture. Heat: weights alone. Dim: what is not looked at goes dark."
        " Mask: the fewest patches that hold a share of the mass, as DINO shows them.",
    )
    return cast(Direction, direction), cast(Style, style)


def choose_ground(subject: Subject, *, maps: bool = True) -> Ground:
    """What maps are drawn on; `maps`: whether there are any."""
    side = subject.prepared.shown.shape[0]
    same = np.array_equal(subject.ground(seen=False).pixels, subject.prepared.shown)
    seen = widgets.toggle(
        Ground.key("seen"),
        "What the model sees",
        help=f"The picture at the model's {side} × {side} px, instead of the original crop.",
        why_not=AS_IT_IS if same else None,
    )
    no_maps = None if maps else "There is no map here."
    smooth = widgets.toggle(
        Ground.key("smooth"),
        "Smooth between patches",
        help="The model has one weight per patch; smooth edges are drawn, not computed.",
        why_not=no_maps,
    )
    grey = widgets.toggle(
        Ground.key("grey"),
        "Grey under the map",
        help="An overlay is easier to see on a picture without colours.",
        why_not=no_maps,
    )
    return Ground(seen, smooth, grey)
