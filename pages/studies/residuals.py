"""Show the gradient norm by block with and without residual connections, stored and live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from pages.train.experiments import papers, stored_results

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from vitviz.analysis.gradients import Norms, describe_gradient_shares, select_norms
from vitviz.experiments.deep_models import DATASET, DEPTH, NAME, PICTURES, PREPARATION, VARIANTS, deep
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.lessons.experiment_measures import EARLY_UPDATES, WeakestGradient
from vitviz.lessons.lesson import Question
from vitviz.plots.normalisation import gradient_figure
from vitviz.text import percent, plural

DEPTHS = (2, 4, 8, 12, 16, 24)
QUESTION = Question(
    f"After {EARLY_UPDATES} updates of a ViT of {DEPTH} blocks: in which of the {len(VARIANTS)}"
    " variants is the first block's gradient norm smallest, relative to the last block's?",
    WeakestGradient(),
    (("experiments.view", "gradient"), ("experiments.gradient_guess", prediction_gate.SKIPPED)),
)
MATH = r"""
With residual connections a block is $z_{l} = z_{l-1} + f_l(z_{l-1})$, so
$\frac{\partial L}{\partial z_{l-1}} = \frac{\partial L}{\partial z_l} (I + J_l)$: whatever the Jacobian $J_l$ of the
branch is, the gradient also passes unchanged. Without them it is $\frac{\partial L}{\partial z_l} J_l$: over all blocks
a product of Jacobians, which can vanish or explode. The figure shows the measured norms, which differ between the start
and later updates.

**Pre- and post-norm.** LayerNorm after the sum, $z_l = \mathrm{LN}(z_{l-1} + f_l(z_{l-1}))$, is part of the shortcut
and rescales it; before the branch, $z_l = z_{l-1} + f_l(\mathrm{LN}(z_{l-1}))$, the shortcut is the identity
(Xiong et al. 2020). Post-norm therefore needs a warm-up; these trainings have none, and a constant learning rate.

The figure shows $\lVert \partial L / \partial \theta_l \rVert_2$ over all parameters of block $l$; all blocks have
the same number.
"""


@dataclass(frozen=True)
class GradientControls(widgets.ControlValues, page="experiments"):
    """The predicted variant, the number of updates, and the depth of the live models."""

    gradient_guess: str
    updates: int
    here: bool
    deep: int


def draw() -> None:
    """Draw the question, the stored norms at a chosen moment, and those that are computed here."""
    stored = read_result_if_any(NAME)
    answered = stored is None or prediction_gate.require_measured_prediction(
        GradientControls.key("gradient_guess"), QUESTION
    )
    if stored is None:
        stored_results.draw_missing_note(NAME)
    elif answered:
        _draw_stored(stored)
    else:
        _draw_first_model(stored)
    if answered and widgets.toggle(
        GradientControls.key("here"),
        "Compute at initialisation",
        help="Random weights; takes a few seconds.",
    ):
        _draw_initial_gradients()
    papers.cite_papers(
        "He et al. 2016: without shortcuts a CNN of more layers has the higher training error. Xiong et al. 2020: with"
        " the norm after the sum gradients near the output are large at the start, with the norm before it not."
        " Dong et al. 2021: without shortcuts and MLPs all tokens become equal."
    )
    page.drawers("experiments.gradient", math=MATH, code=_list_code)


def _list_code() -> tuple[Callable[..., object], ...]:
    from vitviz.models.layers import Block
    from vitviz.probe.gradients import measure_gradient_norms

    return measure_gradient_norms, Block.forward, Block._add


def _draw_first_model(stored: Result) -> None:
    """Draw the first variant alone, before the prediction."""
    marks = [int(mark) for mark in stored.settings["marks"]]
    norms = select_norms(stored.rows, marks.index(EARLY_UPDATES), VARIANTS)[:1]
    page.figure(gradient_figure(norms, selection.get_theme()), "experiments.gradient_figure")
    page.caption(
        f"{describe_gradient_shares(norms, EARLY_UPDATES)} Predict to see the other {len(VARIANTS) - 1}."
    )
    page.provenance(stored_results.describe_origin(stored, list(stored.rows)))


def _draw_stored(stored: Result) -> None:
    marks = tuple(int(mark) for mark in stored.settings["marks"])
    updates = widgets.select_slider(
        GradientControls.key("updates"), "Updates", marks, 10, format_func=lambda mark: f"{mark:,}"
    )
    norms = select_norms(stored.rows, marks.index(updates), VARIANTS)
    page.figure(gradient_figure(norms, selection.get_theme()), "experiments.gradient_figure")
    page.caption(f"{describe_gradient_shares(norms, updates)} {describe_accuracies(stored)}")
    page.provenance(stored_results.describe_origin(stored, list(stored.rows)))
    columns = {
        "Model": [VARIANTS[row["variant"]] for row in stored.rows],
        "Seed": [row["seed"] for row in stored.rows],
        "Test accuracy": [row.get("test") for row in stored.rows],
        **{
            f"Block {block + 1}": [
                row["norms"][marks.index(updates)][block]
                if len(row["norms"]) > marks.index(updates)
                else None
                for row in stored.rows
            ]
            for block in range(int(stored.settings["depth"]))
        },
    }
    page.csv("These norms (CSV)", columns, f"gradient_norms_{updates}.csv", "experiments.gradient_csv")


def describe_accuracies(stored: Result) -> str:
    """Describe the test accuracies of every variant over its seeds."""
    descriptions = []
    for name, title in VARIANTS.items():
        rows = stored.where(variant=name)
        tests = [float(row["test"]) for row in rows if "test" in row]
        diverged = sum("diverged" in row for row in rows)
        ends = [percent(end(tests)) for end in (min, max)] if tests else [""]
        parts = [" to ".join(dict.fromkeys(ends))]
        parts += [f"{diverged} diverged"] if diverged else []
        if any(parts):
            descriptions.append(f"{title} {', '.join(filter(None, parts))}")
    updates = plural(int(stored.settings["updates"]), "update")
    return f"Test accuracy after {updates}: {'; '.join(descriptions)}." if descriptions else ""


def _draw_initial_gradients() -> None:
    depth = widgets.select_slider(GradientControls.key("deep"), "Blocks", DEPTHS, DEPTH)
    with st.spinner("Computing the gradient …"):
        norms = [
            Norms(name, title, values := _compute_initial_norms(name, depth), values, values, 1)
            for name, title in VARIANTS.items()
        ]
    page.figure(gradient_figure(norms, selection.get_theme()), "experiments.gradient_here")
    page.caption(f"Seed 0, {PICTURES} digits, fp32. {describe_gradient_shares(norms, 0)}")


@cached.shared(max_entries=32)
def _compute_initial_norms(variant: str, depth: int) -> NDArray[np.float64]:
    """Compute the gradient norms (depth,) at initialisation."""
    import torch

    from vitviz.data.preparation import prepare_batch
    from vitviz.models.vit import VisionTransformer
    from vitviz.models.zoo import create_model
    from vitviz.probe.gradients import measure_gradient_norms

    data = cached.load_dataset(DATASET)
    inputs = torch.from_numpy(prepare_batch(data.train_images[:PICTURES], PREPARATION))
    labels = torch.from_numpy(np.array(data.labels_of("train")[:PICTURES], np.int64))
    model = create_model(deep(variant, depth), seed=0)
    assert isinstance(model, VisionTransformer)
    return measure_gradient_norms(model, inputs, labels)
