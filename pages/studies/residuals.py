"""Study the gradient norm by block with and without residual connections."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.controls import widgets
from pages.frame import page
from pages.questions import prediction_gate
from pages.selection import selection
from pages.stores import shared_cache
from pages.studies.study import Choice, Evidence, Study, Table, View
from pages.views.figures import draw_chart
from vitviz.analysis.norms import Norms, describe_gradient_shares, select_norms
from vitviz.csv_table import Columns
from vitviz.experiments.gradients import DATASET, DEPTH, NAME, PICTURES, PREPARATION, VARIANTS, deep
from vitviz.experiments.result_file import Result, describe_recipe, read_result, read_result_if_any
from vitviz.lessons.experiment_measures import EARLY_UPDATES, WeakestGradient
from vitviz.lessons.lesson import Question
from vitviz.plots.normalisation import gradient_figure
from vitviz.plots.theme import Mode
from vitviz.text import percent, plural

DEPTHS = (2, 4, 8, 12, 16, 24)
GUESS = "experiments.gradient_guess"
LIVE, LIVE_DEPTH = "experiments.here", "experiments.deep"
QUESTION = Question(
    f"After {EARLY_UPDATES} updates of a ViT of {DEPTH} blocks, which of the {len(VARIANTS)}"
    " variants has the smallest gradient norm in the first block, relative to the last block?",
    WeakestGradient(),
    (("studies.study", "residuals"), (GUESS, prediction_gate.SKIPPED)),
)


def list_marks() -> dict[int, str]:
    """Return the numbers of updates after which gradients were measured."""
    stored = read_result_if_any(NAME)
    return {} if stored is None else {int(mark): f"{mark:,}" for mark in stored.settings["marks"]}


def build(mode: Mode, updates: int) -> View:
    """Return the gradient norms of every variant after so many updates."""
    stored = read_result(NAME)
    mark = [*list_marks()].index(updates)
    norms = select_norms(stored.rows, mark, VARIANTS)
    return View(
        gradient_figure(norms, mode),
        f"{describe_gradient_shares(norms, updates)} {describe_accuracies(stored)}",
        prediction_gate.create_prediction(GUESS, QUESTION),
        (Evidence(stored, stored.rows, describe_recipe(stored, stored.rows)),),
        table=Table(
            _build_columns(stored, mark), {"Test accuracy": percent}, f"gradient_norms_{updates}.csv"
        ),
        below=_draw_initial_gradients,
    )


def _build_columns(stored: Result, mark: int) -> Columns:
    """Return the table's columns: test accuracy and gradient norms of every training at one moment."""
    rows = stored.rows
    blocks = range(int(stored.settings["depth"]))
    norms = [row["norms"][mark] if len(row["norms"]) > mark else [None] * len(blocks) for row in rows]
    return {
        "Model": [VARIANTS[row["variant"]] for row in rows],
        "Seed": [row["seed"] for row in rows],
        "Test accuracy": [row.get("test") for row in rows],
        **{f"Block {block + 1}": [norm[block] for norm in norms] for block in blocks},
    }


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
    help_text = "Random weights; takes a few seconds."
    if not widgets.toggle(LIVE, "Compute at initialisation", help=help_text):
        return
    depth = widgets.select_slider(LIVE_DEPTH, "Blocks", DEPTHS, DEPTH)
    with st.spinner("Computing the gradient …"):
        norms = [
            Norms(name, title, values := _compute_initial_norms(name, depth), values, values, np.ones(1))
            for name, title in VARIANTS.items()
        ]
    draw_chart(gradient_figure(norms, selection.get_theme()), "studies.residuals.here")
    page.caption(f"{describe_gradient_shares(norms, 0)[:-1]}; seed 0, {PICTURES} digits, fp32.")


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


STUDY = Study(
    "residuals",
    "Residual connections",
    "Does the first block's gradient vanish without residual connections?",
    minutes=4,
    experiments=(NAME,),
    build=build,
    choices=(Choice("experiments.updates", "Updates", list_marks, EARLY_UPDATES, widgets.select_slider),),
    keys=(GUESS, LIVE, LIVE_DEPTH),
    math=page.read_math(__file__),
    code=(
        "vitviz.probe.gradients:measure_gradient_norms",
        "vitviz.models.layers:Block.forward",
        "vitviz.models.layers:Block._add",
    ),
)
