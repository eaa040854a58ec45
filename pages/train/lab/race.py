"""Train several models side by side as one run: forms of the experiments, and their stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page, run_panel
from pages.selection import selection
from pages.stores import runs
from pages.train.lab import lineup_form, run_view
from pages.train.lab.lab_controls import (
    LOADED_RACE,
    DataRaceControls,
    RaceControls,
    RecipeControls,
    StageControls,
)
from vitviz.experiments import data_size
from vitviz.experiments.data_size import GRIDS, SEEDS
from vitviz.text import plain
from vitviz.training.position_race import CODES, POSITIONS_RACE, RACES, TITLE, positions_race

if TYPE_CHECKING:
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

ONE_MODEL, SEVERAL, EXPERIMENT, DATA = "one", "several", "experiment", "data"
KINDS = {
    ONE_MODEL: "One model",
    SEVERAL: "Several models",
    EXPERIMENT: f"Experiment: {TITLE.lower()}",
    DATA: "Experiment: how much data?",
}
RACE, CURVES = "race", "curves"
STAGE_VIEWS = {RACE: "Race", CURVES: "Curves"}


def is_experiment(run: Run | None) -> bool:
    return run is not None and len(runs.list_models(run)) > 1


def choose_mode() -> str:
    """Draw the choice of the training mode, a key of `KINDS`, and return it."""
    incoming = st.session_state.get(session_keys.INCOMING, {})
    if RecipeControls.key("recipe") in incoming:  # a link to a recipe selects one model
        incoming.setdefault(RaceControls.key("train"), ONE_MODEL)
    mode = widgets.segmented(
        RaceControls.key("train"), "Train", KINDS, ONE_MODEL, label_visibility="collapsed"
    )
    if mode == ONE_MODEL:
        query_params.remove_value(RaceControls.key("train"))
    return mode


def get_dataset() -> str:
    """Return the dataset of the experiment on positions, after its form was drawn."""
    return str(session_keys.get_control_values()[RaceControls.key("race")])


def draw_form(mode: str) -> RunConfig | ValueError:
    """Draw the form of a mode of several models; return the configured run, or the reason why it is invalid."""
    if mode == SEVERAL:
        return lineup_form.draw_form()
    try:
        if mode == DATA:
            form = _draw_data_controls()
            return data_size.race(form.data_race, form.race_pictures, form.race_draw, form.race_augmented)
        controls = _draw_controls()
        return positions_race(controls.race, epochs=controls.race_epochs, seed=controls.race_seed)
    except ValueError as error:
        return error


def _draw_controls() -> RaceControls:
    from vitviz.data.datasets import available_titles

    columns = st.columns([3, 2, 2, 4], vertical_alignment="bottom")
    with columns[0]:
        dataset = widgets.segmented(
            RaceControls.key("race"), "Dataset", available_titles(RACES), width="stretch"
        )
    default_epochs = float(RACES[dataset].train.epochs or 1.0)
    if st.session_state.get(LOADED_RACE, dataset) != dataset:
        RaceControls.change(race_epochs=default_epochs)
    st.session_state[LOADED_RACE] = dataset
    with columns[1]:
        hint = "One epoch uses every training image once per model."
        epochs = widgets.real(RaceControls.key("race_epochs"), "Epochs", default_epochs, 1.0, help=hint)
    with columns[2]:
        hint = f"All {len(CODES)} models share the seed of the initial weights and the order of images."
        seed = widgets.number(RaceControls.key("race_seed"), "Seed", 0, 1_000_000, 0, help=hint)
    with columns[3]:
        page.caption(
            f"{len(CODES)} models that differ only in their positional encoding (one has none); all are also tested on"
            " images with shuffled patches."
        )
    return RaceControls(EXPERIMENT, dataset, epochs, seed)


def fill_form(config: RunConfig) -> bool:
    """Set the form to an experiment's settings, in a callback; return False for any other run."""
    if lineup_form.fill_form(config):
        RaceControls.change(train=SEVERAL)
        return True
    experiment = config.preset == POSITIONS_RACE and bool(config.members)
    is_data_race = _is_data_race(config)
    RaceControls.change(train=EXPERIMENT if experiment else DATA if is_data_race else ONE_MODEL)
    if is_data_race:
        _fill_data_form(config)
    if experiment:
        train = config.train
        st.session_state[LOADED_RACE] = train.dataset
        RaceControls.change(race=train.dataset, race_epochs=float(train.epochs or 1.0), race_seed=train.seed)
    return experiment or is_data_race


# ---------------------------------------------------------------- the stage


def choose_stage_view() -> None:
    """Draw the choice between the race, which includes shuffled images, and the training curves."""
    key = StageControls.key("look")
    if widgets.segmented(key, "View", STAGE_VIEWS, RACE) == RACE:
        query_params.remove_value(key)


def draw_stage(run: Run) -> None:
    """Draw the experiment's state and buttons, and the race or the curves with a caption of its results."""
    curves = st.session_state.get(StageControls.key("look")) == CURVES
    run_panel.draw(run, _draw_curves if curves else None)
    config = run.config()
    if _is_data_race(config) and runs.read_status(run).state == "done":
        selection.link_to(
            "data",
            "Compare with the stored results",
            **{
                "data.view": "sizes",
                "data.dataset": config.train.dataset,
                "data.augmented": widgets.encode_value(bool(config.train.shift_px)),
            },
        )


def _draw_curves(run: Run, status: Status) -> None:
    run_view.draw_curves(runs.list_models(run), get_shown_model(run))
    page.caption(run_panel.describe_race(run))


# ---------------------------------------------------------------- one of its models


def choose_member(run: Run) -> Run:
    """Draw the choice of the model that the images below show."""
    members = {member.directory.name: member for member in runs.list_models(run)}
    titles = {name: plain(runs.name_model(member)) for name, member in members.items()}
    return members[widgets.segmented(StageControls.key("member"), "Model shown", titles, [*titles][-1])]


def get_shown_model(run: Run) -> Run:
    """Return an experiment's selected model, or any other run itself."""
    models = {model.directory.name: model for model in runs.list_models(run)}
    return models.get(st.session_state.get(StageControls.key("member"), ""), list(models.values())[-1])


# ---------------------------------------------------------------- the experiment on dataset size


def _is_data_race(config: RunConfig) -> bool:
    return config.preset == data_size.PRESET and bool(config.members)


def _draw_data_controls() -> DataRaceControls:
    from vitviz.data.datasets import available_titles

    with page.row():
        dataset = widgets.segmented(DataRaceControls.key("data_race"), "Dataset", available_titles(GRIDS))
        with st.container(width=216):
            images = widgets.select_slider(
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
    return DataRaceControls(dataset, images, augmented, seed)


def _fill_data_form(config: RunConfig) -> None:
    """Set the form to a run's settings; call it in a callback."""
    train = config.train
    sizes = GRIDS[train.dataset].sizes
    DataRaceControls.change(
        data_race=train.dataset,
        race_pictures=GRIDS[train.dataset].size_of(train) or sizes[1],
        race_augmented=bool(train.shift_px),
        race_draw=train.seed if train.seed in SEEDS else SEEDS[0],
    )
