"""Why residual connections: the gradient's norm by block, at the start and through training, stored and live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import cached
from pages.train.experiments import papers, stored_results
from vitviz.analysis.gradients import Norms, describe, norms_at
from vitviz.experiments.deep_models import DATASET, DEPTH, NAME, PICTURES, PREPARATION, VARIANTS, deep
from vitviz.experiments.result import Result, read_result_if_any
from vitviz.lessons.experiment_measures import EARLY_UPDATES, WeakestGradient
from vitviz.lessons.lesson import Question
from vitviz.plots.normalisation import gradient_figure
from vitviz.text import percent, plural

DEPTHS = (2, 4, 8, 12, 16, 24)
QUESTION = Question(
    f"After {EARLY_UPDATES} updates of a ViT of {DEPTH} blocks: in which of the {len(VARIANTS)} does the"
    f" first block get the"
    " smallest gradient, measured by the last block's?",
    WeakestGradient(),
    (("experiments.view", "gradient"), ("experiments.gradient_guess", prediction_gate.SKIPPED)),
)
MATH = r"""
With residual connections a block is $z_{l} = z_{l-1} + f_l(z_{l-1})$, so
$\frac{\partial L}{\partial z_{l-1}} = \frac{\partial L}{\partial z_l} (I + J_l)$: whatever the Jacobian $J_l$ of the
branch is, the gradient also passes unchanged. Without them it is $\frac{\partial L}{\partial z_l} J_l$, a product of as
many matrices as there are blocks, which can vanish or explode: what it does here, the figure says, and it need not be
the same at the start and after a few updates.

**Pre- and post-norm.** LayerNorm after the sum, $z_l = \mathrm{LN}(z_{l-1} + f_l(z_{l-1}))$, stands *on* the shortcut
and rescales what passes; before the branch, $z_l = z_{l-1} + f_l(\mathrm{LN}(z_{l-1}))$, the shortcut stays clear
(Xiong et al. 2020). So post-norm wants a warm-up; these trainings have none, and a constant rate.

Drawn is $\lVert \partial L / \partial \theta_l \rVert_2$ by all parameters of block $l$; every block has as many.
"""


@dataclass(frozen=True)
class GradientControls(widgets.ControlValues, page="experiments"):
    """The model that is predicted to get the smallest gradient, the number of updates, and the depth of the live
    models.
    """

    gradient_guess: str
    updates: int
    here: bool
    deep: int


def draw() -> None:
    """The question, the stored norms at a chosen moment, and those that are computed here."""
    found = read_result_if_any(NAME)
    answered = found is None or prediction_gate.require_measured_prediction(
        GradientControls.key("gradient_guess"), QUESTION
    )
    if found is None:
        stored_results.draw_missing_note(NAME)
    elif answered:
        _draw_stored(found)
    else:
        _draw_first_model(found)
    if answered and widgets.toggle(
        GradientControls.key("here"),
        "Compute it here at the start",
        help="Fresh weights, this machine, a few seconds.",
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
    from vitviz.probe.gradients import gradient_norms

    return gradient_norms, Block.forward, Block._add


def _draw_first_model(found: Result) -> None:
    """One of the variants, while the question about all of them is open."""
    marks = [int(mark) for mark in found.settings["marks"]]
    norms = norms_at(found.rows, marks.index(EARLY_UPDATES), VARIANTS)[:1]
    page.figure(gradient_figure(norms, selection.get_theme()), "experiments.gradient_figure")
    page.caption(f"{describe(norms, EARLY_UPDATES)} Predict to see the other {len(VARIANTS) - 1}.")
    page.provenance(stored_results.describe_origin(found, list(found.rows)))


def _draw_stored(found: Result) -> None:
    marks = tuple(int(mark) for mark in found.settings["marks"])
    updates = widgets.select_slider(
        GradientControls.key("updates"), "Updates made", marks, 10, format_func=lambda mark: f"{mark:,}"
    )
    norms = norms_at(found.rows, marks.index(updates), VARIANTS)
    page.figure(gradient_figure(norms, selection.get_theme()), "experiments.gradient_figure")
    page.caption(f"{describe(norms, updates)} {describe_accuracies(found)}")
    page.provenance(stored_results.describe_origin(found, list(found.rows)))
    columns = {
        "Model": [VARIANTS[row["variant"]] for row in found.rows],
        "Seed": [row["seed"] for row in found.rows],
        "Test accuracy": [row.get("test") for row in found.rows],
        **{
            f"Block {block + 1}": [
                row["norms"][marks.index(updates)][block]
                if len(row["norms"]) > marks.index(updates)
                else None
                for row in found.rows
            ]
            for block in range(int(found.settings["depth"]))
        },
    }
    page.csv("These norms (CSV)", columns, f"gradient_norms_{updates}.csv", "experiments.gradient_csv")


def describe_accuracies(found: Result) -> str:
    """Return what the trainings came to, variant by variant."""
    said = []
    for name, title in VARIANTS.items():
        rows = found.where(variant=name)
        tests = [float(row["test"]) for row in rows if "test" in row]
        broken = sum("diverged" in row for row in rows)
        ends = [percent(end(tests)) for end in (min, max)] if tests else [""]
        parts = [" to ".join(dict.fromkeys(ends))]
        parts += [f"{broken} diverged"] if broken else []
        if any(parts):
            said.append(f"{title} {', '.join(filter(None, parts))}")
    updates = plural(int(found.settings["updates"]), "update")
    return f"On the test images after {updates}: {'; '.join(said)}." if said else ""


def _draw_initial_gradients() -> None:
    depth = widgets.select_slider(GradientControls.key("deep"), "Blocks", DEPTHS, DEPTH)
    with st.spinner("Computing the gradient …"):
        norms = [
            Norms(name, title, values := _compute_initial_norms(name, depth), values, values, 1)
            for name, title in VARIANTS.items()
        ]
    page.figure(gradient_figure(norms, selection.get_theme()), "experiments.gradient_here")
    page.caption(f"Seed 0, {PICTURES} digits, fp32. {describe(norms, 0)}")


@cached.shared(max_entries=32)
def _compute_initial_norms(variant: str, depth: int) -> NDArray[np.float64]:
    """Return (depth,) norms of a model that has not been trained."""
    import torch

    from vitviz.data.preparation import prepare_batch
    from vitviz.models.vit import VisionTransformer
    from vitviz.models.zoo import create_model
    from vitviz.probe.gradients import gradient_norms

    data = cached.load_dataset(DATASET)
    inputs = torch.from_numpy(prepare_batch(data.train_images[:PICTURES], PREPARATION))
    labels = torch.from_numpy(np.array(data.labels_of("train")[:PICTURES], np.int64))
    model = create_model(deep(variant, depth), seed=0)
    assert isinstance(model, VisionTransformer)
    return gradient_norms(model, inputs, labels)
