"""Reach of layers that is limited by kernels or windows: CNNs, Swins, and a CNN beside a ViT's heads."""

from dataclasses import replace

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention_distance import captions, distances
from pages.lenses.attention_distance.distance_controls import AXES, MOST_GRADIENT_IMAGES, read_controls
from pages.lenses.attention_distance.distances import FloatArray, ImageSet
from pages.selection import selection
from pages.stores import shared_cache
from pages.views.event_values import read_index_pair
from pages.views.figures import draw_chart
from pages.views.register import register
from vitviz.analysis.receptive_fields import block_fields
from vitviz.models.abilities import as_cnn, as_swin
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.distance import HeadSeries, heads_view, reach_figure

_head_distance = register(__file__, "head_distance")


def draw_head_plot(message: bytes) -> tuple[int, int] | None:
    """Draw `vitviz.plots.distance.heads_view`; return the (layer, head) that was clicked in this run."""
    return read_index_pair(_head_distance(message, key="attention_distance.heads", triggers=("pick",)).pick)


def _limit_images(images: ImageSet) -> ImageSet:
    return replace(images, count=min(images.count, MOST_GRADIENT_IMAGES))


def draw_cnn(model: LoadedModel) -> None:
    """Draw the reach of each layer of a CNN, by gradients and by its kernels."""
    images = read_controls(model).images
    page.untrained_note(model.trained_on)
    config = as_cnn(model.config)
    fields = block_fields(config)
    sides = [field.side_px for field in fields.values()]
    reach_px = distances.load_reach(model, tuple(fields), images)
    theory = "in theory: half the receptive field"
    curves: dict[str, FloatArray] = {
        "reach: mean distance of the pixels, weighted by gradients": reach_px,
        theory: np.minimum(np.array(sides) / 2, config.image_size),
    }
    titles = [name.replace("layers.", "stage ").replace(".blocks.", " block ") for name in fields]
    draw_chart(reach_figure(titles, curves, [theory], selection.get_theme()), "attention_distance.cnn")
    page.caption(captions.describe_cnn(sides, reach_px, images.count))
    page.drawers("attention_distance", math=page.read_math(__file__), code=distances.REACH_FUNCTIONS)


def draw_cnn_beside_heads(model: LoadedModel, layer_px: FloatArray, images: ImageSet) -> None:
    """Draw the heads' mean distance by layer and the reach of a CNN's layers on one axis."""
    cnn = shared_cache.load_model(distances.select_cnn(model.preparation.in_chans))
    fields = block_fields(as_cnn(cnn.config))
    few_images = _limit_images(images)
    reach_px = distances.load_reach(cnn, tuple(fields), few_images)
    half_px = np.minimum([field.side_px / 2 for field in fields.values()], cnn.preparation.image_size)
    theory = f"{cnn.title}: half its receptive field"
    st.subheader("Comparison with a CNN", anchor=False)
    page.untrained_note(cnn.trained_on)
    depth = max(len(layer_px), len(fields))
    curves = {
        f"{model.title}: mean over heads": layer_px,
        f"{cnn.title}: reach, by gradients": reach_px,
        theory: half_px,
    }
    labels = [str(layer + 1) for layer in range(depth)]
    draw_chart(reach_figure(labels, curves, [theory], selection.get_theme()), "attention_distance.beside")
    page.caption(captions.describe_cnn_beside_heads(layer_px, reach_px, few_images.count))


def draw_swin(model: LoadedModel) -> None:
    """Draw the distances of heads inside their windows, and the reach of each layer."""
    controls = read_controls(model)
    page.untrained_note(model.trained_on)
    images = controls.images
    names, head_px = distances.load_window_distances(model, images)
    layer_px = head_px.mean(axis=0)
    series = [HeadSeries(model.title, layer_px[None], head_px.std(axis=0)[None])]
    if controls.compare:
        _, random_px = distances.load_window_distances(shared_cache.load_untrained(model), images)
        series.append(HeadSeries("random weights", random_px.mean(axis=0)[None], random_px.std(axis=0)[None]))
    message = heads_view(
        series=series,
        steps=(model.step,),
        axis=f"{AXES['distance'].removesuffix(', px')} inside windows, px",
        unit="px",
        lines=[],
        patch_px=as_swin(model.config).patch_size,
        shown_step=model.step,
    )
    draw_head_plot(message)
    page.caption(captions.describe_windows(layer_px))
    st.subheader("Reach through all layers", anchor=False)
    few_images = _limit_images(images)
    reach_px = distances.load_reach(model, tuple(names), few_images)
    curves: dict[str, FloatArray] = {"measured with gradients": reach_px}
    draw_chart(reach_figure(names, curves, [], selection.get_theme()), "attention_distance.swin")
    page.caption(captions.describe_travel(reach_px, few_images.count))
    page.drawers("attention_distance", math=page.read_math(__file__), code=distances.REACH_FUNCTIONS)
