"""Distances of every head of a recorded run without weights, as its recorder measured them on its images."""

from functools import partial

import numpy as np

from pages.frame import page
from pages.lenses.attention_distance import captions, heads, reach
from pages.lenses.attention_distance.distance_controls import AXES, UNITS
from pages.lenses.attention_distance.distances import summarise_table
from pages.selection import selection
from pages.stores import recorded_runs
from pages.stores.model_choice import ModelChoice
from vitviz.analysis import distance as analysis
from vitviz.analysis.image_means import summarise_images
from vitviz.plots.distance import HeadSeries, ReferenceLine, heads_view

MEASURE = "distance"


def draw(choice: ModelChoice) -> None:
    config, step = recorded_runs.find_run(choice.key).config, selection.get_current().step
    tables = [recorded_runs.read_moment(choice.key, moment).distance_px for moment in choice.steps]
    statistics, layout = [summarise_table(table) for table in tables], config.layout
    uniform_px = analysis.uniform_distance_px(layout.grid, layout.patch_px, layout.num_prefix_tokens)
    series = HeadSeries(
        f"step {step:,}",
        np.stack([moment.mean for moment in statistics]),
        np.stack([moment.half_width for moment in statistics]),
        None,
        captions.describe_interval(config.images),
    )
    line = ReferenceLine(uniform_px, f"uniform attention: {uniform_px:.1f} px")
    message = heads_view(
        series=[series],
        steps=choice.steps,
        axis=AXES[MEASURE],
        unit=UNITS[MEASURE],
        lines=[line],
        patch_px=layout.patch_px,
        shown_step=step,
    )
    reach.draw_head_plot(message)
    place = choice.steps.index(step)
    by_layer = {str(layer): row for layer, row in enumerate(tables[place].mean(axis=2).T, start=1)}
    sentences = captions.describe_distances(
        statistics[place].mean,
        uniform_px,
        analysis.corner_distance_px(layout.grid, layout.patch_px),
        summarise_images("recorded images", by_layer),
        None,
    )
    page.caption(f"{sentences} {recorded_runs.NO_WEIGHTS} Its own images are measured, and no others can be.")
    page.drawers(
        "attention_distance",
        math=page.read_math(heads.__file__, reach.__file__),
        code=(analysis.mean_attention_distance_px,),
        numbers=partial(heads.draw_table, statistics[place], UNITS[MEASURE]),
    )
