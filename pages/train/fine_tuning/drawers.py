"""Draw the drawers of the race: mathematics, code and a table of its accuracies."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.frame import page
from pages.train.fine_tuning import race_results
from vitviz.models.transfer import transferred
from vitviz.models.vit import resize_positions
from vitviz.text import percent
from vitviz.training.fine_tuning_race import recipes
from vitviz.training.layer_rates import rate_scales
from vitviz.training.run_directory import Run

MATH = r"""
**New head.** A backbone $f$ maps an image to $y \in \mathbb{R}^D$ (the normalised [CLS] token, or the mean of the
patches). Its old head $W \in \mathbb{R}^{K' \times D}$ predicts other classes and is dropped. The new one is
$D \times K$ and initialised at random (Dosovitskiy et al. 2021, section 3.2, initialise it with zeros).

**Frozen backbone.** $y$ is fixed for each image and only $W$ is trained: a logistic regression on features.

**Two learning rates.** Often $\eta_{backbone} < \eta_{head}$, so that the backbone changes little: the lecture uses
$10^{-5}$ and $10^{-3}$ for pretrained weights. *Fine-tuning methods* shows where one rate for both is better.

**Layer-wise decay** (Clark et al. 2020): layer $l$ of $L$ has the learning rate $\eta\,\gamma^{\,L + 1 - l}$, because
early layers transfer to many tasks and late layers to few.

**A higher resolution** has more patches than there are position embeddings: they are interpolated bicubically on their
grid, and that of [CLS] stays unchanged.

**Baseline:** the same model with random initial weights, the same images in the same order, the same number of updates
and the same seeds; only the initial weights and the learning rates differ. Test accuracy is evaluated once, at the end.
"""


def draw(run: Run | None) -> None:
    """Draw the closed drawers, with the numbers of the displayed race."""
    page.drawers(
        "fine_tuning",
        math=MATH,
        code=(transferred, resize_positions, rate_scales, recipes),
        numbers=None if run is None else partial(_draw_table, run),
    )


def _draw_table(run: Run) -> None:
    """Draw every model's test accuracy and initial weights, and the downloads."""
    from vitviz.data.uploaded_datasets import hide_secret_name

    columns: dict[str, list[object]] = {"model": [], "seed": [], "initial weights": [], "test accuracy": []}
    curves: dict[str, list[object]] = {"model": [], "seed": [], "epoch": [], "validation accuracy": []}
    for group in race_results.load_groups(run):
        for seed, points in enumerate(group.curves):
            config = race_results.find_member(run, group.name, seed).config()
            columns["model"].append(group.title)
            columns["seed"].append(seed)
            columns["initial weights"].append(config.train.start_from or "random weights")
            columns["test accuracy"].append(group.tests[seed] if group.tests else None)
            for epoch, accuracy in points.T:
                row = (group.title, seed, float(epoch), float(accuracy))
                for name, cell in zip(curves, row, strict=True):
                    curves[name].append(cell)
    styled = page.style_table(columns, {"test accuracy": percent})
    st.dataframe(styled, hide_index=True, placeholder=page.MISSING)
    train = run.config().train
    page.caption(
        f"Dataset: {hide_secret_name(train.dataset)}. Digest of the backbone: {train.start_digest or 'none'}."
    )
    page.csv("Test accuracies (CSV)", columns, "fine_tuning_test.csv", "fine_tuning.csv_test")
    page.csv("Curves (CSV)", curves, "fine_tuning_curves.csv", "fine_tuning.csv_curves")
