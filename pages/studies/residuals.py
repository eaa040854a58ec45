"""Draw the gradient norm by block with and without residual connections, stored or at initialisation."""

from dataclasses import replace

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.selection import selection
from pages.stores import shared_cache
from pages.studies.study import Values
from pages.views.figures import draw_chart
from vitviz.analysis.norms import Norms, describe_gradient_shares, format_ratio, select_norms
from vitviz.analysis.study_numbers import Numbers
from vitviz.csv_table import Columns
from vitviz.experiments.gradients import DATASET, DEPTH, PICTURES, PREPARATION, VARIANTS, deep
from vitviz.plots.chart import Chart
from vitviz.plots.normalisation import gradient_figure
from vitviz.plots.theme import Mode

DEPTHS = (2, 4, 8, 12, 16, 24)
LIVE, LIVE_DEPTH = "experiments.here", "experiments.deep"


def select(values: Values, numbers: Numbers) -> list[Norms]:
    """Return the gradient norms of every variant after the selected number of updates."""
    stored, rows = numbers.evidence[0]
    return select_norms(rows, list(stored.settings["marks"]).index(values["updates"]), VARIANTS)


def read(values: Values, numbers: Numbers) -> Numbers:
    finding = describe_gradient_shares(select(values, numbers), values["updates"])
    return replace(numbers, extra={"finding": finding})


def chart(values: Values, numbers: Numbers, mode: Mode) -> Chart:
    return gradient_figure(select(values, numbers), mode)


def columns(values: Values, numbers: Numbers) -> Columns:
    """Return the table of every training: its test accuracy, and the gradient norm of each block."""
    stored, rows = numbers.evidence[0]
    mark = list(stored.settings["marks"]).index(values["updates"])
    return {
        "Model": [VARIANTS[row["variant"]] for row in rows],
        "Seed": [row["seed"] for row in rows],
        "Test accuracy": [row["test"] for row in rows],
        **{f"Block {block + 1}": [row["norms"][mark][block] for row in rows] for block in range(DEPTH)},
    }


def draw_below(values: Values, numbers: Numbers) -> None:
    """Draw the gradients of random weights, of any depth, on request."""
    help_text = "Random weights; takes a few seconds."
    if not widgets.toggle(LIVE, "Compute at initialisation", help=help_text):
        return
    depth = widgets.select_slider(LIVE_DEPTH, "Blocks", DEPTHS, DEPTH)
    with st.spinner("Computing the gradient …"):
        norms = [
            Norms(name, title, found := _compute_initial_norms(name, depth), found, found, np.ones(1))
            for name, title in VARIANTS.items()
        ]
    draw_chart(gradient_figure(norms, selection.get_theme()), "studies.residuals.here")
    shares = "; ".join(f"{each.title}: {format_ratio(each.share)}" for each in norms)
    page.caption(
        f"First block's norm divided by the last block's: {shares}; seed 0, {PICTURES} digits, fp32."
    )


@shared_cache.shared(max_entries=32)
def _compute_initial_norms(variant: str, depth: int) -> NDArray[np.float64]:
    import torch

    from vitviz.data.image_preprocessing import prepare_batch
    from vitviz.models.vit import VisionTransformer
    from vitviz.models.zoo import create_model
    from vitviz.probe.gradients import measure_gradient_norms

    dataset = shared_cache.load_dataset(DATASET)
    inputs = torch.from_numpy(prepare_batch(dataset.train_images[:PICTURES], PREPARATION))
    labels = torch.from_numpy(np.array(dataset.labels_of("train")[:PICTURES], np.int64))
    model = create_model(deep(variant, depth), seed=0)
    assert isinstance(model, VisionTransformer)
    return measure_gradient_norms(model, inputs, labels)
