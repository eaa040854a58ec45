"""Distances of every head of a ViT against depth, one head in detail, and a suggested model with a wider range."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.controls import downloads, widgets
from pages.frame import page
from pages.lenses.attention_distance import captions, distances, reach
from pages.lenses.attention_distance.distance_controls import AXES, UNITS, DistanceControls, read_controls
from pages.lenses.attention_distance.distances import (
    FloatArray,
    HeadStatistics,
    RecordedDistances,
    TrainingDistances,
)
from pages.selection import selection
from pages.stores import catalogue, recorded_runs, shared_cache
from pages.stores.model_choice import ModelChoice
from pages.views.figures import draw_chart
from vitviz.analysis import distance as analysis
from vitviz.analysis.image_means import ImageMeans, summarise_images
from vitviz.lessons import lesson, model_measures
from vitviz.models.abilities import abilities
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import TokenLayout
from vitviz.plots import theme
from vitviz.plots.distance import HeadSeries, ReferenceLine, distribution_figure, heads_view, reach_map
from vitviz.text import plural

NARROW_SHARE = 0.2  # of the distance under uniform attention; a narrower range of heads shows little


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """A ViT with the measured statistics of its heads, and those of random weights if they are compared."""

    model: LoadedModel
    controls: DistanceControls
    layout: TokenLayout
    distances: analysis.AttentionDistances
    heads: HeadStatistics
    draws_px: FloatArray | None  # (draws, depth, heads) of the measure with random weights

    @property
    def layers(self) -> ImageMeans:
        """Mean distance of each layer's heads, image by image."""
        return summarise_layers(self.controls.set, self.distances.distance_px)

    @property
    def uniform_px(self) -> float:
        """Distance of a head with uniform attention."""
        prefix = 0 if self.controls.renormalise else self.layout.num_prefix_tokens
        return analysis.uniform_distance_px(self.layout.grid, self.layout.patch_px, prefix)


def summarise_layers(source: str, distance_px: FloatArray) -> ImageMeans:
    """Return the mean distance of each layer's heads, image by image, from (images, depth, heads)."""
    by_layer = enumerate(distance_px.mean(axis=2).T, start=1)
    return summarise_images(source, {str(layer): row for layer, row in by_layer})


def draw(model: LoadedModel) -> None:
    controls = read_controls(model)
    page.untrained_note(model.trained_on)
    choice = selection.get_model_choice()
    measured = measure_model(model, controls)
    training = None
    recorded = distances.load_recorded(
        choice, model.step, controls.images, controls.head_measure, measured.heads
    )
    if controls.training and recorded is None:
        training = distances.load_training(choice, model.step, controls.images, controls.head_measure)
        training.heads.setdefault(model.step, measured.heads)
    draw_heads(measured, training, recorded if controls.training else None)
    progress_slot, suggestion_slot = st.container(), st.container()
    draw_head(measured)
    if controls.measure == "distance":
        reach.draw_cnn_beside_heads(model, measured.layers, controls.images)
    page.drawers(
        "attention_distance",
        math=page.read_math(__file__, reach.__file__),
        code=(analysis.mean_attention_distance_px, *distances.REACH_FUNCTIONS),
        numbers=partial(draw_table, measured.heads, UNITS[controls.measure]),
        ask=lesson.Question(
            "In which layer is the mean attention distance shortest on the selected image?",
            model_measures.MostLocalLayer(),
        ),
    )
    with suggestion_slot:
        suggest_model(measured, choice)
    if training is not None:
        with progress_slot:
            distances.draw_training(training)


def measure_model(model: LoadedModel, controls: DistanceControls) -> MeasuredModel:
    """Measure the selected step, and random weights of the same architecture if they are compared."""
    layout, measure = model.layout(*model.preparation.image_shape), controls.head_measure
    head_distances = distances.load_distances(model, controls.images, measure)
    draws_px = distances.load_control(model, controls.images, measure) if controls.compare else None
    heads = distances.summarise_heads(head_distances, measure)
    return MeasuredModel(model, controls, layout, head_distances, heads, draws_px)


def compute_offset_maps(head_distances: analysis.AttentionDistances, grid: tuple[int, int]) -> FloatArray:
    """Return each head's attention around its query (depth, heads, 2 rows - 1, 2 cols - 1)."""
    attn = head_distances.mean_attn
    assert attn is not None  # `load_distances` stores it
    return np.stack([[analysis.offset_map(head, grid) for head in layer] for layer in attn])


def draw_heads(
    measured: MeasuredModel, training: TrainingDistances | None, recorded: RecordedDistances | None
) -> None:
    """Draw heads against depth at the selected step, or at all moments once they are measured or if recorded."""
    step, measure = measured.model.step, measured.controls.measure
    heads = {step: measured.heads}
    if training is not None and training.is_complete:
        heads = training.heads
    steps: Sequence[int] = tuple(sorted(heads))
    statistics = [heads[step] for step in steps]
    if recorded is not None:
        steps, statistics = recorded.moments.steps, recorded.heads
    message = heads_view(
        series=make_series(measured, statistics),
        steps=steps,
        training=None if recorded is None else recorded.moments,
        axis=AXES[measure],
        unit=UNITS[measure],
        lines=make_lines(measured),
        patch_px=measured.layout.patch_px,
        shown_step=step,
    )
    picked = reach.draw_head_plot(message)
    if picked is not None:
        widgets.set_control("attention_distance.layer", picked[0] + 1)
        widgets.set_control("attention_distance.head", picked[1] + 1)
    means = measured.heads.mean
    if measure != "distance":
        page.caption(captions.describe_measure(means, AXES[measure], UNITS[measure]))
        return
    corner_px = analysis.corner_distance_px(measured.layout.grid, measured.layout.patch_px)
    sentences = captions.describe_distances(
        means, measured.uniform_px, corner_px, measured.layers, measured.draws_px
    )
    page.caption(sentences if recorded is None else f"{sentences} {recorded.note}".rstrip())


def make_series(measured: MeasuredModel, statistics: list[HeadStatistics]) -> list[HeadSeries]:
    """Return the heads at every step, and random weights repeated for every step if they are compared."""
    model, draws_px = measured.model, measured.draws_px
    trained = f"step {model.step:,}" if model.step else "trained"  # published weights have no steps
    series = HeadSeries(
        trained if model.trained_on else "random weights",
        np.stack([heads.mean for heads in statistics]),
        np.stack([heads.half_width for heads in statistics]),
        compute_offset_maps(measured.distances, measured.layout.grid),
        captions.describe_interval(len(measured.distances.distance_px)),
    )
    if draws_px is None:
        return [series]
    untrained = distances.load_distances(
        shared_cache.load_untrained(model),
        distances.limit_control(model, measured.controls.images),
        measured.controls.head_measure,
    )
    offsets = compute_offset_maps(untrained, measured.layout.grid)
    return [series, reach.make_control(draws_px, len(statistics), offsets)]


def make_lines(measured: MeasuredModel) -> list[ReferenceLine]:
    """Return the reference line: uniform attention."""
    layout, measure = measured.layout, measured.controls.measure
    prefix, tokens = layout.num_prefix_tokens, layout.num_tokens
    if measure == "entropy":
        return [
            ReferenceLine(float(np.log2(tokens)), f"uniform over {tokens} tokens: {np.log2(tokens):.2f} bits")
        ]
    if measure == "prefix":
        share = 100 * prefix / tokens
        return [ReferenceLine(share, f"uniform: {share:.1f} %")] if prefix else []
    return [_name_uniform(measured.uniform_px)]


def _name_uniform(px: float) -> ReferenceLine:
    return ReferenceLine(px, f"uniform attention: {px:.1f} px")


def draw_recorded(choice: ModelChoice) -> None:
    """Draw the heads of a recorded run without weights, as its recorder measured them on its images."""
    config, step = recorded_runs.find_run(choice.key).config, selection.get_current().step
    tables = [recorded_runs.read_moment(choice.key, moment).distance_px for moment in choice.steps]
    statistics, layout = [distances.summarise_table(table) for table in tables], config.layout
    uniform_px = analysis.uniform_distance_px(layout.grid, layout.patch_px, layout.num_prefix_tokens)
    means, half_widths = map(
        np.stack, zip(*((part.mean, part.half_width) for part in statistics), strict=True)
    )
    interval = captions.describe_interval(config.images)
    message = heads_view(
        series=[HeadSeries(f"step {step:,}", means, half_widths, None, interval)],
        steps=choice.steps,
        axis=AXES["distance"],
        unit=UNITS["distance"],
        lines=[_name_uniform(uniform_px)],
        patch_px=layout.patch_px,
        shown_step=step,
    )
    reach.draw_head_plot(message)
    place = choice.steps.index(step)
    corner_px = analysis.corner_distance_px(layout.grid, layout.patch_px)
    layers = summarise_layers("recorded images", tables[place])
    sentences = captions.describe_distances(means[place], uniform_px, corner_px, layers, None)
    page.caption(f"{sentences} {recorded_runs.NO_WEIGHTS} Its own images are measured, and no others can be.")
    page.drawers(
        "attention_distance",
        math=page.read_math(__file__, reach.__file__),
        code=(analysis.mean_attention_distance_px,),
        numbers=partial(draw_table, statistics[place], UNITS["distance"]),
    )


def suggest_model(measured: MeasuredModel, choice: ModelChoice) -> None:
    """Suggest the stored model with the widest range of heads if this model's range is narrow."""
    means_px, controls = measured.heads.mean, measured.controls
    if (
        controls.measure != "distance"
        or analysis.spread_of_heads(means_px, measured.uniform_px) >= NARROW_SHARE
    ):
        return
    text = (
        f"The mean attention distances of all {means_px.size} heads of {choice.shown} lie within"
        f" {np.ptp(means_px):.1f} px."
    )
    widest = find_widest_model(choice)
    if widest is None:
        page.caption(text)
        return
    suggested, range_px = widest
    images = plural(distances.FEW_IMAGES, "image")
    page.caption(f"{text} Those of {suggested.shown} span {range_px:.1f} px, measured over {images}.")
    if st.button(f"Show {suggested.shown}", key="attention_distance.show_more"):
        selection.set_model(suggested.key)
        st.rerun()  # not only the fragment


def find_widest_model(current: ModelChoice) -> tuple[ModelChoice, float] | None:
    """Return the other stored ViT with the widest range of heads and this range in px; None if all are narrow."""
    spreads = [
        (*distances.measure_spread(choice, shared_cache.identify_weights(choice, choice.last_step)), choice)
        for choice in catalogue.list_checkpoints()
        if choice.key != current.key and choice.trained_on and abilities(choice.config).heads_over_all
    ]
    share, range_px, widest = max(spreads, default=(0.0, 0.0, current), key=lambda spread: spread[0])
    return None if share < NARROW_SHARE else (widest, range_px)


def draw_head(measured: MeasuredModel) -> None:
    """Draw one head in detail: the distance of each query, and its attention over distances."""
    renormalise, layout = measured.controls.renormalise, measured.layout
    st.subheader("One head", anchor=False)
    left, right, link_slot = st.columns([2, 2, 3], vertical_alignment="bottom")
    depth, heads = measured.heads.mean.shape
    with left:
        layer = widgets.number("attention_distance.layer", "Layer", 1, depth, 1)
    with right:
        head = widgets.number("attention_distance.head", "Head", 1, heads, 1)
    with link_slot:
        params: dict[str, Any] = {"attention.layer": layer, "attention.head": head}
        selection.link_to("attention", "Open page: Attention", **params)
    assert measured.distances.mean_attn is not None  # `load_distances` stores it
    attn = measured.distances.mean_attn[layer - 1, head - 1]
    if renormalise:
        attn = analysis.without_prefix(attn, layout.grid)
    query_px = analysis.query_distances_px(attn, layout.grid, layout.patch_px)
    edges, shares = analysis.distance_distribution(attn, layout.grid, layout.patch_px)
    map_column, histogram_column = st.columns([1, 2])
    mode = selection.get_theme()
    with map_column:
        st.markdown(":gray[Mean distance by query patch]")
        draw_chart(reach_map(query_px, mode), "attention_distance.map")
    with histogram_column:
        st.markdown(":gray[Distribution of the head's attention over distances]")
        color = theme.head_color(head - 1, heads)
        figure = distribution_figure(edges, shares, float(query_px.mean()), color, mode)
        draw_chart(figure, "attention_distance.distribution")
    page.caption(captions.describe_head(layer, head, query_px, None if renormalise else shares.sum()))


def draw_table(heads: HeadStatistics, unit: str) -> None:
    layer, head = np.indices(heads.mean.shape).reshape(2, -1) + 1
    columns = {"layer": layer, "head": head, "mean": heads.mean.ravel(), "sd": heads.deviation.ravel()}
    columns["95 % interval ±"] = heads.half_width.ravel()
    st.dataframe(
        {
            name if name in ("layer", "head") else f"{name}, {unit}": values
            for name, values in columns.items()
        },
        hide_index=True,
        height=280,
    )
    downloads.csv("CSV", columns, "attention_distance.csv", "attention_distance.csv")
