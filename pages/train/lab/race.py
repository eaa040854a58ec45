"""Experiments of the lab: models trained side by side in one run; 'Do positions matter?' is the first of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.controls import query_params, session_keys, widgets
from pages.frame import page, race_question
from pages.selection import selection
from pages.stores import cached, runs
from pages.stores.racers import racers
from pages.train.lab import data_race, lineup, run_view
from pages.train.lab.keys import RACE_LOADED as LOADED
from pages.train.lab.keys import Race, Recipe, Stage
from pages.views.race import race as race_view
from vitviz.analysis import race as results
from vitviz.plots import race as plots
from vitviz.text import plain
from vitviz.training.races import POSITIONS_RACE, RACES, TITLE, positions_race

if TYPE_CHECKING:
    from vitviz.analysis.race import Racer
    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run, Status

ONE, SEVERAL, EXPERIMENT, DATA = "one", "several", "experiment", "data"
KINDS = {
    ONE: "One model",
    SEVERAL: "Several models",
    EXPERIMENT: f"Experiment: {TITLE.lower()}",
    DATA: "Experiment: how much data?",
}
RACE, CURVES = "race", "curves"
LOOKS = {RACE: "Race", CURVES: "Curves"}
# The race's colours, grey first, among those of the curves, which are darker as numbers are written in them.
HUES = (5, 0, 1, 2, 3, 6, 7, 4)


def is_experiment(run: Run | None) -> bool:
    """Whether a run trains several models."""
    return run is not None and len(runs.models_of(run)) > 1


def choose() -> bool:
    """Draws the choice between one model and the experiments; whether it is an experiment."""
    incoming = st.session_state.get(session_keys.INCOMING, {})
    if Recipe.key("recipe") in incoming:  # a link to a recipe means one model
        incoming.setdefault(Race.key("train"), ONE)
    kind = widgets.segmented(
        Race.key("train"),
        "Train",
        tuple(KINDS),
        ONE,
        format_func=KINDS.__getitem__,
        label_visibility="collapsed",
    )
    if kind == ONE:
        query_params.drop(Race.key("train"))
    return kind != ONE


def draw_form() -> RunConfig | ValueError:
    """Draws the chosen experiment's controls; the run that they describe, or why it cannot be."""
    kind = st.session_state[Race.key("train")]
    if kind == SEVERAL:
        return lineup.draw_form()
    if kind == DATA:
        return data_race.draw_form()
    chosen = _choose()
    race_question.draw(chosen.race)
    try:
        return positions_race(chosen.race, epochs=chosen.race_epochs, seed=chosen.race_seed)
    except ValueError as error:
        return error


def _choose() -> Race:
    from vitviz.data.datasets import DATASETS, available_datasets

    here = tuple(name for name in RACES if name in available_datasets())
    columns = st.columns([3, 2, 2, 4], vertical_alignment="bottom")
    with columns[0]:
        dataset = widgets.segmented(
            Race.key("race"), "Data set", here, format_func=lambda name: DATASETS[name].title, width="stretch"
        )
    if st.session_state.get(LOADED, dataset) != dataset:
        Race.change(race_epochs=_epochs(dataset))
    st.session_state[LOADED] = dataset
    with columns[1]:
        words = "An epoch shows every model every training picture once."
        epochs = widgets.real(Race.key("race_epochs"), "Epochs", _epochs(dataset), 1.0, help=words)
    with columns[2]:
        words = "All five start from it and see the same pictures in the same order."
        seed = widgets.number(Race.key("race_seed"), "Seed", 0, 1_000_000, 0, help=words)
    with columns[3]:
        page.caption(
            "Five codes of positions, otherwise one model and one recipe, trained in turn; then all are shown pictures"
            " with shuffled patches."
        )
    return Race(EXPERIMENT, dataset, epochs, seed)


def _epochs(dataset: str) -> float:
    return float(RACES[dataset].train.epochs or 1.0)


def fill(config: RunConfig) -> bool:
    """Sets the form to an experiment's settings, in a callback; False, and the form for one model, for other runs."""
    if lineup.fill(config):
        Race.change(train=SEVERAL)
        return True
    experiment = config.preset == POSITIONS_RACE and bool(config.members)
    data = data_race.is_data_race(config)
    Race.change(train=EXPERIMENT if experiment else DATA if data else ONE)
    if data:
        data_race.fill(config)
    if experiment:
        train = config.train
        st.session_state[LOADED] = train.dataset
        Race.change(race=train.dataset, race_epochs=float(train.epochs or 1.0), race_seed=train.seed)
    return experiment or data


# ---------------------------------------------------------------- the stage


def choose_look() -> None:
    """Draws the choice between the race, which has the shuffled pictures too, and all curves of its models."""
    key = Stage.key("look")
    if widgets.segmented(key, "Its models as", tuple(LOOKS), RACE, format_func=LOOKS.__getitem__) == RACE:
        query_params.drop(key)


def draw_stage(run: Run) -> None:
    """How the experiment stands and what steers it, then the race or the curves, then what its numbers say."""
    status, config, found = runs.status(run), run.config(), _told_apart(run)
    state_box, steer_box = st.columns([1.2, 1], gap="medium")
    with state_box:
        run_view.draw_state(run, status)
    with steer_box:
        run_view.draw_steering(run, status, _words(status, len(found)))
    if st.session_state.get(Stage.key("look")) == CURVES:
        guess = ""
        run_view.draw_curves(runs.models_of(run), subject(run), HUES)
    else:
        guess = f"The dotted line is what guessing among {config.model.num_classes} answers gives."
        _draw_race(config, found, runs.no_curve_yet(status))
    # Of an upload, titles and classes are a stranger's.
    told = [replace(racer, title=plain(racer.title)) for racer in found]
    page.caption(results.describe(told, tuple(map(plain, _classes(run)))) or guess)
    if data_race.is_data_race(config) and status.state == "done":
        selection.link_to("data", "See it among the stored points", **data_race.beside(config))


def _told_apart(run: Run) -> list[Racer]:
    """The models as they race; those of one name with their seeds."""
    called = {model.directory.name: runs.called(model) for model in runs.models_of(run)}
    return [replace(racer, title=called[racer.name]) for racer in racers(run)]


def _draw_race(config: RunConfig, found: list[Racer], waiting: str) -> None:
    chance = 1 / config.model.num_classes
    race_view(plots.payload(found, chance, config.longest or 1.0, waiting), key="live_lab.race_view")


def _words(status: Status, count: int) -> str:
    speed = (
        f" {status.images_per_second:,.0f} pictures a second together." if status.images_per_second else ""
    )
    precision = f" Computed in {status.precision}." if status.precision else ""
    return f"{count} models take turns, one step each.{speed}{precision}"


@cached.shared(most=64)
def _read_classes(path: str) -> tuple[str, ...]:
    from vitviz.checkpoint_header import read_header

    return tuple(read_header(path).classes)


def _classes(run: Run) -> tuple[str, ...]:
    """Names of the answers, from a snapshot; numbers before there is one."""
    member = runs.models_of(run)[0]
    steps = member.snapshots()
    if not steps:
        return tuple(map(str, range(run.config().model.num_classes)))
    return _read_classes(str(member.snapshot_path(steps[0])))


# ---------------------------------------------------------------- one of its models


def choose_member(run: Run) -> Run:
    """Draws the choice of the member that the pictures below show."""
    members = {member.directory.name: member for member in runs.models_of(run)}
    titles = {name: plain(runs.called(member)) for name, member in members.items()}
    name = widgets.segmented(
        Stage.key("member"), "Look into", tuple(members), tuple(members)[-1], format_func=titles.__getitem__
    )
    return members[name]


def subject(run: Run) -> Run:
    """The model of a run whose pictures are shown: an experiment's chosen member, any other run itself."""
    models = {model.directory.name: model for model in runs.models_of(run)}
    return models.get(st.session_state.get(Stage.key("member"), ""), list(models.values())[-1])
