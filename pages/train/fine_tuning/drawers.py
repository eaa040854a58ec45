"""The drawers of the race: the mathematics, the code that ran, and every number of it."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.frame import page
from pages.train.fine_tuning import race_results
from vitviz.models.transfer import transferred
from vitviz.models.vit import resize_positions
from vitviz.text import percent
from vitviz.training.fine_tuning import recipes
from vitviz.training.layer_rates import rate_scales
from vitviz.training.run_directory import Run

MATH = r"""
**The head is new.** A backbone $f$ turns an image into $y \in \mathbb{R}^D$ (the normed [CLS] token, or the mean of the
patches); its old head $W \in \mathbb{R}^{K' \times D}$ named other classes and is dropped. A new one, $D \times K$,
begins random (Dosovitskiy et al. 2021, section 3.2, who begin it at zero).

**Backbone frozen.** Then $y$ is fixed for each image and only $W$ learns: a logistic regression on features.

**Two learning rates.** Often $\eta_{backbone} < \eta_{head}$ is taken, so that the backbone keeps what it has:
the lesson takes
$10^{-5}$ and $10^{-3}$ for published weights. *Ways to tune* shows where one rate for both does better.

**Layer-wise decay** (Clark et al. 2020): layer $l$ of $L$ learns at $\eta\,\gamma^{\,L + 1 - l}$, since early layers
fit many tasks and late ones fit one.

**A higher resolution** has more patches than the table of positions has rows: it is stretched bicubically on its grid,
and [CLS] keeps its own.

**Compared with:** the same model, with weights drawn at random, the same images in the same order, as many updates,
the same seeds; only where it begins and its learning rates differ. The test images are read once, at the end.
"""


def draw(run: Run | None) -> None:
    """The closed drawers; the numbers are those of the race on the stage."""
    page.drawers(
        "fine_tuning",
        math=MATH,
        code=(transferred, resize_positions, rate_scales, recipes),
        numbers=None if run is None else partial(_draw_table, run),
    )


def _draw_table(run: Run) -> None:
    """Every model's accuracies, and what it began with."""
    from vitviz.data.own_datasets import spoken

    columns: dict[str, list[object]] = {"model": [], "seed": [], "began with": [], "test accuracy": []}
    curve: dict[str, list[object]] = {"model": [], "seed": [], "epoch": [], "validation accuracy": []}
    for group in race_results.load_groups(run):
        for seed, points in enumerate(group.curves):
            config = race_results.find_member(run, group.name, seed).config()
            columns["model"].append(group.title)
            columns["seed"].append(seed)
            columns["began with"].append(config.train.start_from or "random weights")
            columns["test accuracy"].append(group.tests[seed] if group.tests else None)
            for epoch, accuracy in points.T:
                for name, value in zip(
                    curve, (group.title, seed, float(epoch), float(accuracy)), strict=True
                ):
                    curve[name].append(value)
    shown = page.style_table(columns, {"test accuracy": percent})
    st.dataframe(shown, hide_index=True, placeholder=page.MISSING)
    train = run.config().train
    page.caption(f"Learned: {spoken(train.dataset)}. The backbone's digest: {train.start_digest or 'none'}.")
    page.csv("Test accuracies (CSV)", columns, "fine_tuning_test.csv", "fine_tuning.csv_test")
    page.csv("Curves (CSV)", curve, "fine_tuning_curves.csv", "fine_tuning.csv_curves")
