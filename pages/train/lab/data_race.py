"""The lab's second experiment: CNN, hybrid, Swin and ViT on so many pictures, with the recipe of the stored grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.train.lab.keys import DataRace
from vitviz.experiments.data_size import GRIDS, PRESET, SEEDS, race

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig


def is_data_race(config: RunConfig) -> bool:
    """Whether a run is this experiment."""
    return config.preset == PRESET and bool(config.members)


def draw_form() -> RunConfig | ValueError:
    """Draws the race's controls; the experiment that they describe, or why it cannot be."""
    chosen = _choose()
    try:
        return race(chosen.data_race, chosen.race_pictures, chosen.race_draw, chosen.race_augmented)
    except ValueError as error:
        return error


def _choose() -> DataRace:
    from vitviz.data.datasets import DATASETS, available_datasets

    here = tuple(name for name in GRIDS if name in available_datasets())
    with page.row():
        dataset = widgets.segmented(
            DataRace.key("data_race"), "Data set", here, format_func=lambda name: DATASETS[name].title
        )
        with st.container(width=216):
            pictures = widgets.select_slider(
                DataRace.key("race_pictures"),
                "Training pictures",
                GRIDS[dataset].sizes,
                GRIDS[dataset].sizes[1],
                format_func=lambda size: f"{size:,}",
            )
        augmented = widgets.toggle(DataRace.key("race_augmented"), "Augmented", True)
        words = "All four start from it and see the same pictures in the same order."
        seed = widgets.segmented(DataRace.key("race_draw"), "Seed", SEEDS, help=words)
    page.caption(
        f"Four models, one recipe, {GRIDS[dataset].updates:,} updates each, trained in turn: what the stored points of"
        " 'How much data?' were trained with."
    )
    return DataRace(dataset, pictures, augmented, seed)


def fill(config: RunConfig) -> None:
    """Sets the form to a race's settings, in a callback."""
    train = config.train
    sizes = GRIDS[train.dataset].sizes
    DataRace.change(
        data_race=train.dataset,
        race_pictures=GRIDS[train.dataset].size_of(train) or sizes[1],
        race_augmented=bool(train.shift_px),
        race_draw=train.seed if train.seed in SEEDS else SEEDS[0],
    )


def beside(config: RunConfig) -> dict[str, Any]:
    """The controls of 'How much data?' that show a race among the stored points."""
    return {
        "data.view": "sizes",
        "data.dataset": config.train.dataset,
        "data.augmented": bool(config.train.shift_px),
    }
