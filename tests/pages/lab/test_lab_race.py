"""An experiment in the lab: chosen, started, watched as a race, and each of its models opened like any run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import runs
from tests.messages import read_race
from tests.pages.conftest import captions
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, belongs, start_button, view
from vitviz.experiments import bugs
from vitviz.training.position_race import CODES, QUESTIONS, positions_race
from vitviz.training.run_archive import export_run, import_run
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status
from vitviz.training.run_trainer import Session

EXPERIMENT = {"live_lab__train": "experiment"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A race of half an epoch of digits, made narrow and run once for this file."""
    race = positions_race("digits", epochs=0.5, snapshots=3)
    narrow = tuple(
        replace(member, model=replace(member.model, embed_dim=16, depth=1, num_heads=2))  # type: ignore[arg-type]
        for member in race.members
    )
    config = replace(race, model=narrow[0].model, members=narrow)
    run = Run.create(tmp_path_factory.mktemp("trained"), config)
    assert Session(run, device="cpu").perform().state == "done"
    return run


def segmented(app: AppTest, key: str) -> Any:
    (found,) = [group for group in app.main.get("button_group") if group.key == key]
    return found


def test_the_experiment_is_chosen_and_started(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE)
    segmented(app, "live_lab.train").set_value("experiment").run()
    assert not app.exception, app.exception[0].message
    segmented(app, "live_lab.race").set_value("digits").run()
    app.main.number_input(key="live_lab.race_seed").set_value(3).run()
    assert f"{len(CODES)} models (No positions, 1-D sinusoidal, 2-D summed" in captions(app)
    start_button(app).click().run()
    assert not app.exception, app.exception[0].message
    ((order, config),) = executor.orders
    assert order == "start" and isinstance(config, RunConfig)
    assert [member.name for member in config.members] == list(CODES)
    assert (config.train.dataset, config.train.seed, config.name) == ("digits", 3, "Do positions matter?")
    assert config.owner and config.lease_s
    header, arrays = view(app, "race_view")
    lines, pairs = read_race(header, arrays)
    assert [*lines] == list(CODES.values()) and not pairs
    assert header["charts"][0]["layout"]["meta"].endswith(runs.describe_missing_curve(Status("queued")))
    assert not any(line["x"] for line in lines.values())


def test_models_of_one_name_are_told_apart_by_their_seeds(open_app: OpenApp, executor: FakeExecutor) -> None:
    """Two times three buttons of the experiment had the same names."""
    config = bugs.build_run_config("digits", "softmax")
    run = Run.create(executor.folder, config)
    app = open_app(PAGE, live_lab__run=run.id)
    names = [
        f"{kind}, seed {seed}"
        for kind in dict.fromkeys(member.title for member in config.members)
        for seed in bugs.LIVE_SEEDS
    ]
    assert [option.content for option in segmented(app, "live_lab.member").proto.options] == names
    assert [*read_race(*view(app, "race_view"))[0]] == names
    segmented(app, "live_lab.look").set_value("curves").run()
    assert [label["name"] for label in view(app, "curves")[0]["runs"]] == names


def test_a_link_chooses_the_experiment_and_a_recipes_link_does_not(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    app = open_app(PAGE, **EXPERIMENT, live_lab__race="shapes", live_lab__race_epochs="0.5")
    assert app.main.number_input(key="live_lab.race_epochs").value == 0.5
    segmented(app, "live_lab.race").set_value("digits").run()
    assert app.main.number_input(key="live_lab.race_epochs").value > 0.5  # each set has its own length
    app.session_state["_superseded"] = []
    app.query_params.clear()
    app.query_params["live_lab.recipe"] = "shapes_vit_nopos"
    app.run()
    assert app.main.selectbox(key="live_lab.positions").value == "none"


def test_the_experiment_says_its_task_and_a_start_takes_an_image_of_its_set(
    open_app: OpenApp, executor: FakeExecutor
) -> None:
    app = open_app(PAGE, **EXPERIMENT, live_lab__race="shapes", image="digits:3")
    assert QUESTIONS["shapes"] in captions(app)
    under = [shown_image.caption for part in app.main.get("image") for shown_image in part.proto.imgs]
    assert [caption for caption in under if caption] == ["left", "right", "above", "below"]
    start_button(app).click().run()
    assert not app.exception, app.exception[0].message
    image = app.query_params["image"]
    assert (image if isinstance(image, str) else image[0]) == "shapes:0"


def test_the_race_is_on_the_stage_with_what_its_numbers_say(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run=run.id)
    header, arrays = view(app, "race_view")
    lines, pairs = read_race(header, arrays)
    curves = header["charts"][0]["layout"]
    assert " test images, after " in header["charts"][1]["note"] and curves["shapes"][0]["y0"] == 10
    whole, shuffled = next(iter(pairs.values()))["x"]
    assert whole == pytest.approx(shuffled, abs=1)
    learned, last = (member.status() for member in run.members()[-2:])
    assert list(pairs.values())[-1]["x"][0] == pytest.approx(100 * (last.test_accuracy or 0))
    assert len(next(iter(lines.values()))["x"]) >= 3 and curves["xaxis"]["range"] == [0, 0.5]
    assert f"Learned {100 * (learned.test_accuracy or 0):.1f}" in captions(app)
    assert "PE(row) + PE(column)" not in captions(app)  # these are digits
    table = app.main.dataframe[0].value
    assert table["Run"].tolist() == [f"Do positions matter? · {title}" for title in CODES.values()]
    assert table["positions"].tolist()[:2] == ["No positions", "1-D sinusoidal"] and len(table) == len(CODES)


def test_a_member_is_looked_into_and_opens_in_every_lens(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run=run.id, live_lab__member="none")
    header, _ = view(app, "life")
    assert header["run"] == f"{run.id}/none"
    segmented(app, "live_lab.member").set_value("sincos_1d").run()
    assert view(app, "life")[0]["run"] == f"{run.id}/sincos_1d"
    steps = run.members()[0].snapshots()
    for page, step in (("attention", steps[0]), ("positions", steps[-1])):
        model = f"run:{run.id}/learned"
        lens = open_app(f"pages/lenses/{page}/page.py", model=model, step=str(step))
        assert lens.sidebar.selectbox(key="model").value == model
        assert any(
            "Do positions matter? · Learned" in option
            for option in lens.sidebar.selectbox(key="model").options
        )


def test_an_experiment_is_steered_renamed_copied_and_deleted_whole(
    open_app: OpenApp, run: Run, executor: FakeExecutor
) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    app.main.text_input(key=f"live_lab._name_{run.id}").set_value("Our race").run()
    assert run.config().name == "Our race" and run.members()[0].config().name == "No positions"
    (copy,) = [button for button in app.main.button if button.label == "Copy settings"]
    copy.click().run()
    assert app.main.number_input(key="live_lab.race_epochs").value == 0.5
    assert segmented(app, "live_lab.race").value == "digits"
    app.main.button(key="live_lab._delete").click().run()
    assert not app.exception and not run.directory.exists()


def test_its_models_can_stand_beside_another_run(open_app: OpenApp, run: Run) -> None:
    """Curves of one model of a race over those of a run."""
    alone = Run.create(run.directory.parent, replace(run.members()[0].config(), name="Alone", created=0.0))
    assert Session(alone, device="cpu").perform().state == "done"
    app = open_app(PAGE, live_lab__run=alone.id)
    app.session_state["_visit"].runs = (alone.id, run.id)
    app.run()
    app.main.multiselect(key="live_lab._beside").set_value([f"{run.id}/learned"]).run()
    header, _ = view(app, "curves")
    assert [label["name"] for label in header["runs"]] == ["Alone", "Learned"]


def test_an_uploaded_experiment_is_shown_whole(
    open_app: OpenApp, trained: Run, folder: Path, executor: FakeExecutor
) -> None:
    arrived = import_run(folder, export_run(trained))
    app = open_app(PAGE, live_lab__run=arrived.id)
    assert " test images, after " in view(app, "race_view")[0]["charts"][1]["note"]


def test_a_hostile_member_is_no_run(open_app: OpenApp, run: Run) -> None:
    for name in ("../none", "nobody", "none/../../x"):
        app = open_app("pages/lenses/patches/page.py", model=f"run:{run.id}/{name}")
        assert app.sidebar.selectbox(key="model").value != f"run:{run.id}/{name}"
