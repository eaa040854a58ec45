"""Draw the drawers of the race: mathematics, code and a table of its accuracies."""

from functools import partial

import streamlit as st

from pages.frame import page
from pages.train.fine_tuning import race_results
from vitviz.models.transfer import transferred
from vitviz.models.vit import resize_positions
from vitviz.text import percent
from vitviz.training.fine_tuning_race import recipes
from vitviz.training.optimizers import rate_scales
from vitviz.training.run_directory import Run


def draw(run: Run | None) -> None:
    page.drawers(
        "fine_tuning",
        math=page.read_math(__file__),
        code=(transferred, resize_positions, rate_scales, recipes),
        numbers=None if run is None else partial(_draw_table, run),
    )


def _draw_table(run: Run) -> None:
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
