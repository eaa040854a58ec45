"""Train CNN, hybrid, Swin and ViT on a reduced dataset, with the recipe of the stored results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.train.lab.keys import DataRaceControls
from vitviz.experiments.data_size import GRIDS, PRESET, SEEDS, race

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig


def is_data_race(config: RunConfig) -> bool:
    return config.preset == PRESET and bool(config.members)


def draw_form() -> RunConfig | ValueError:
    """Draw the controls; return the experiment, or the reason why it is invalid."""
    controls = _draw_controls()
    try:
        return race(controls.data_race, controls.race_pictures, controls.race_draw, controls.race_augmented)
    except ValueError as error:
        return error


def _draw_controls() -> DataRaceControls:
    from vitviz.data.datasets import DATASETS, available_datasets

    available = tuple(name for name in GRIDS if name in available_datasets())
    with page.row():
        dataset = widgets.segmented(
            DataRaceControls.key("data_race"),
            "Dataset",
            available,
            format_func=lambda name: DATASETS[name].title,
        )
        with st.container(width=216):
            pictures = widgets.select_slider(
                DataRaceControls.key("race_pictures"),
                "Training images",
                GRIDS[dataset].sizes,
                GRIDS[dataset].sizes[1],
                format_func=lambda size: f"{size:,}",
            )
        augmented = widgets.toggle(DataRaceControls.key("race_augmented"), "Augmented", True)
        seed_help = "All four models share the seed of the initial weights and the order of images."
        seed = widgets.segmented(DataRaceControls.key("race_draw"), "Seed", SEEDS, help=seed_help)
    page.caption(
        f"Four models, one recipe, {GRIDS[dataset].updates:,} updates each: the settings of the stored results in"
        " 'How much data?'."
    )
    return DataRaceControls(dataset, pictures, augmented, seed)


def fill_form(config: RunConfig) -> None:
    """Set the form to a run's settings; call it in a callback."""
    train = config.train
    sizes = GRIDS[train.dataset].sizes
    DataRaceControls.change(
        data_race=train.dataset,
        race_pictures=GRIDS[train.dataset].size_of(train) or sizes[1],
        race_augmented=bool(train.shift_px),
        race_draw=train.seed if train.seed in SEEDS else SEEDS[0],
    )


def build_link_params(config: RunConfig) -> dict[str, Any]:
    """Return the query parameters that show a run among the stored results of 'How much data?'."""
    return {
        "data.view": "sizes",
        "data.dataset": config.train.dataset,
        "data.augmented": bool(config.train.shift_px),
    }
