"""What kernels and windows let a layer read: the pages of a CNN and of a Swin, and a CNN beside a ViT's heads."""

from __future__ import annotations

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention_distance import distance_controls as controls_of
from pages.lenses.attention_distance import distances
from pages.lenses.attention_distance.distance_controls import AXES, MOST_BY_GRADIENT
from pages.lenses.attention_distance.distances import FloatArray, Pictures
from pages.lenses.attention_distance.head_distance import head_distance
from pages.selection import selection
from pages.stores import cached
from vitviz.analysis.receptive_fields import cnn_layers
from vitviz.models.abilities import as_cnn, as_swin
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.distance import HeadSeries, heads_view, reach_figure
from vitviz.text import plural

MATHEMATICS = r"""
$$
\text{reach}_l = \sum_p w_p \lVert p - c \rVert_2, \qquad
w_p \propto \sum_{\text{channels}} \Bigl| \frac{\partial\, \text{output}_l(c)}{\partial\, x_p} \Bigr|
$$

The gradient of a layer's central output with respect to every pixel $p$ of the picture, with random signs over the
output's channels (Luo et al. 2016). It is not attention distance in another form: the gradient tells of the whole way
from the pixels up to layer $l$, with everything that earlier layers have mixed, attention distance of one layer alone.
"""


def draw_cnn(model: LoadedModel) -> None:
    """How far each layer of a CNN reads, measured and by its kernels."""
    chosen = controls_of.read(model)
    page.untrained_note(model.trained_on)
    config, seen = as_cnn(model.config), chosen.seen
    names, sides = cnn_layers(config)
    measured = distances.gradient_reach(model, names, seen)
    theory = "in theory: half the receptive field"
    curves: dict[str, FloatArray] = {
        "measured: mean distance of the pixels read": measured,
        theory: np.minimum(np.array(sides) / 2, config.image_size),
    }
    titles = [name.replace("layers.", "stage ").replace(".blocks.", " block ") for name in names]
    page.figure(reach_figure(titles, curves, [theory], selection.mode()), "attention_distance.cnn")
    page.caption(
        f"A CNN has no heads: its reach is fixed by its kernels. The receptive field grows from {sides[0]} to"
        f" {sides[-1]} px across; gradients put the pixels that count {measured[0]:.1f} px from the centre after"
        f" the stem and {measured[-1]:.1f} px after the last layer, over {plural(seen.count, 'picture')}."
    )
    page.drawers("attention_distance", math=MATHEMATICS, code=distances.BY_GRADIENT)


def draw_cnn_beside(model: LoadedModel, mean_px: FloatArray, seen: Pictures) -> None:
    """The heads' mean by layer, and how far a CNN's layers read, on one axis."""
    cnn = cached.loaded(distances.a_cnn(model.preparation.in_chans))
    names, sides = cnn_layers(as_cnn(cnn.config))
    few = distances.Pictures(seen.source, min(seen.count, MOST_BY_GRADIENT), seen.image, seen.offset)
    measured = distances.gradient_reach(cnn, names, few)
    half = np.minimum(np.array(sides) / 2, cnn.preparation.image_size)
    theory = f"{cnn.title}: half its receptive field"
    st.subheader("Beside it: a CNN", anchor=False)
    page.untrained_note(cnn.trained_on)
    depth = max(len(mean_px), len(names))
    curves = {f"{model.title}: mean over heads": mean_px, f"{cnn.title}: measured": measured, theory: half}
    figure = reach_figure([str(layer + 1) for layer in range(depth)], curves, [theory], selection.mode())
    page.figure(figure, "attention_distance.beside")
    page.caption(
        f"In layer 1 the heads look {mean_px[0]:.1f} px far on average, in layer {len(mean_px)} {mean_px[-1]:.1f} px."
        f" The CNN's layers read pixels {measured[0]:.1f} px from the centre after the first and"
        f" {measured[-1]:.1f} px after the last of {len(names)}, by gradients over {plural(few.count, 'picture')};"
        " each in pixels of its own input. The heads' numbers tell of one layer alone, the CNN's of the way from the"
        " pixels."
    )


def draw_swin(model: LoadedModel) -> None:
    """Heads inside their windows, and how far information has travelled after each layer."""
    chosen = controls_of.read(model)
    page.untrained_note(model.trained_on)
    seen = chosen.seen
    names, found = distances.of_windows(model, seen)
    plotted = [HeadSeries(model.title, found.mean(axis=0)[None], found.std(axis=0)[None])]
    if chosen.compare:
        _, base = distances.of_windows(cached.untrained(model), seen)
        plotted.append(HeadSeries("random weights", base.mean(axis=0)[None], base.std(axis=0)[None]))
    axis, patch_px = (
        f"{AXES['distance'].removesuffix(', px')} inside windows, px",
        as_swin(model.config).patch_size,
    )
    data = heads_view(
        series=plotted,
        steps=(model.step,),
        axis=axis,
        unit="px",
        lines=[],
        patch_px=patch_px,
        shown_step=model.step,
    )
    head_distance(data, key="attention_distance.heads")
    now = found.mean(axis=0)
    page.caption(
        f"Inside its windows, a head of layer 1 looks {np.nanmin(now[0]):.1f} to {np.nanmax(now[0]):.1f} px far,"
        f" one of layer {len(names)} looks {np.nanmin(now[-1]):.1f} to {np.nanmax(now[-1]):.1f} px: windows keep their"
        " number of tokens, and tokens grow with every merging. Layers are the stages' blocks in order of depth."
    )
    draw_travel(model, names, seen)
    page.drawers("attention_distance", math=MATHEMATICS, code=distances.BY_GRADIENT)


def draw_travel(model: LoadedModel, names: list[str], seen: Pictures) -> None:
    """How far one token of a Swin has read after each layer."""
    few = distances.Pictures(seen.source, min(seen.count, MOST_BY_GRADIENT), seen.image, seen.offset)
    measured = distances.gradient_reach(model, names, few)
    st.subheader("How far information has travelled", anchor=False)
    curves: dict[str, FloatArray] = {"measured with gradients": measured}
    page.figure(reach_figure(names, curves, [], selection.mode()), "attention_distance.swin")
    page.caption(
        f"Gradients put the pixels that one token reads {measured[0]:.1f} px from it after layer 1 and"
        f" {measured[-1]:.1f} px after layer {len(names)}, over {plural(few.count, 'picture')}."
    )
