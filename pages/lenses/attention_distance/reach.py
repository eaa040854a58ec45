"""Reach of layers that is limited by kernels or windows: CNNs, Swins, and a CNN beside a ViT's heads."""

from dataclasses import replace

import numpy as np
import streamlit as st

from pages.frame import page
from pages.lenses.attention_distance import captions, distances
from pages.lenses.attention_distance.distance_controls import AXES, MOST_GRADIENT_IMAGES, read_controls
from pages.lenses.attention_distance.distances import FloatArray, MeasuredImages
from pages.selection import selection
from pages.stores import shared_cache
from pages.views.event_values import read_index_pair
from pages.views.figures import draw_chart
from pages.views.register import register
from vitviz.analysis.image_means import ImageMeans, compute_half_width
from vitviz.analysis.receptive_fields import block_fields
from vitviz.models.abilities import as_cnn, as_swin
from vitviz.models.loaded_model import LoadedModel
from vitviz.plots.distance import HeadSeries, ReachCurve, heads_view, reach_figure

_head_distance = register(__file__, "head_distance")


def draw_head_plot(message: bytes) -> tuple[int, int] | None:
    """Draw `vitviz.plots.distance.heads_view`; return the (layer, head) that was clicked in this run."""
    return read_index_pair(_head_distance(message, key="attention_distance.heads", triggers=("pick",)).pick)


def make_control(draws_px: FloatArray, steps: int, offsets: FloatArray | None = None) -> HeadSeries:
    """Return the mean and standard deviation over draws of random weights, repeated for every step.

    Args:
        offsets: maps of the first draw, see `HeadSeries`.
    """
    repeat = (steps, 1, 1)
    return HeadSeries(
        "random weights",
        np.tile(draws_px.mean(axis=0), repeat),
        np.tile(draws_px.std(axis=0, ddof=1), repeat),
        offsets,
        f"standard deviation over {len(draws_px)} draws",
    )


def _limit_images(images: MeasuredImages) -> MeasuredImages:
    return replace(images, count=min(images.count, MOST_GRADIENT_IMAGES))


def draw_cnn(model: LoadedModel) -> None:
    """Draw the reach of each layer of a CNN, by gradients and by its kernels."""
    images = read_controls(model).images
    page.untrained_note(model.trained_on)
    config = as_cnn(model.config)
    fields = block_fields(config)
    sides = [field.side_px for field in fields.values()]
    reach_px = distances.load_reach(model, tuple(fields), images)
    half_px = np.minimum(np.array(sides) / 2, config.image_size)
    curves = [
        measure_reach("reach: mean distance of the pixels, weighted by gradients", reach_px),
        ReachCurve("in theory: half the receptive field", half_px),
    ]
    titles = [name.replace("layers.", "stage ").replace(".blocks.", " block ") for name in fields]
    draw_chart(reach_figure(titles, curves, selection.get_theme()), "attention_distance.cnn")
    page.caption(captions.describe_cnn(sides, reach_px.mean(axis=1), images.count))
    page.drawers("attention_distance", math=page.read_math(__file__), code=distances.REACH_FUNCTIONS)


def measure_reach(title: str, reach_px: FloatArray) -> ReachCurve:
    """Return the curve of a reach (layers, images) with its 95 % intervals."""
    count = reach_px.shape[1]
    half = compute_half_width(1.0, count) * reach_px.std(axis=1, ddof=1) if count > 1 else None
    return ReachCurve(title, reach_px.mean(axis=1), half, count)


def draw_cnn_beside_heads(model: LoadedModel, layers: ImageMeans, images: MeasuredImages) -> None:
    """Draw the heads' mean distance by layer and the reach of a CNN's layers on one axis."""
    cnn = shared_cache.load_model(distances.select_cnn(model.preparation.in_chans))
    fields = block_fields(as_cnn(cnn.config))
    few_images = _limit_images(images)
    reach_px = distances.load_reach(cnn, tuple(fields), few_images)
    half_px = np.minimum([field.side_px / 2 for field in fields.values()], cnn.preparation.image_size)
    st.subheader("Comparison with a CNN", anchor=False)
    page.untrained_note(cnn.trained_on)
    depth = max(len(layers.means), len(fields))
    half_widths = np.array([layers.half_width(name) for name in layers.names])
    curves = [
        ReachCurve(
            f"{model.title}: mean over heads",
            layers.means,
            half_widths if layers.images > 1 else None,
            layers.images,
        ),
        measure_reach(f"{cnn.title}: reach, by gradients", reach_px),
        ReachCurve(f"{cnn.title}: half its receptive field", half_px),
    ]
    labels = [str(layer + 1) for layer in range(depth)]
    draw_chart(reach_figure(labels, curves, selection.get_theme()), "attention_distance.beside")
    page.caption(captions.describe_cnn_beside_heads(layers, reach_px.mean(axis=1), few_images.count))


def draw_swin(model: LoadedModel) -> None:
    """Draw the distances of heads inside their windows, and the reach of each layer."""
    controls = read_controls(model)
    page.untrained_note(model.trained_on)
    images = controls.images
    names, head_px = distances.load_window_distances(model, images)
    heads = distances.summarise_table(head_px)
    interval = captions.describe_interval(len(head_px))
    series = [HeadSeries(model.title, heads.mean[None], heads.half_width[None], None, interval)]
    if controls.compare:
        draws_px = distances.load_control(model, images, controls.head_measure)
        series.append(make_control(draws_px, 1))
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
    page.caption(captions.describe_windows(heads.mean, len(head_px)))
    st.subheader("Reach through all layers", anchor=False)
    few_images = _limit_images(images)
    reach_px = distances.load_reach(model, tuple(names), few_images)
    curves = [measure_reach("measured with gradients", reach_px)]
    draw_chart(reach_figure(names, curves, selection.get_theme()), "attention_distance.swin")
    page.caption(captions.describe_travel(reach_px.mean(axis=1), few_images.count))
    page.drawers("attention_distance", math=page.read_math(__file__), code=distances.REACH_FUNCTIONS)
