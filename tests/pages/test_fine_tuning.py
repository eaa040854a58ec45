"""Test the fine-tuning page: its plan, its race before and after training, and the run that a start creates."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.frame import run_start
from pages.stores import user_datasets
from pages.train.fine_tuning import tuning_race
from tests.files import class_images, zipped
from tests.messages import body, message, place_arrays, read_race, unpack
from tests.pages.conftest import OpenApp, opened_again, query_value, ship, text
from tests.pages.lab.helpers import FakeExecutor, belongs
from tests.unit.training_helpers import GREY, TINY
from vitviz.checkpoints import open_model
from vitviz.config import CNNConfig, TrainConfig
from vitviz.experiments.result_file import read_result
from vitviz.models.abilities import as_vit
from vitviz.models.presets import RGB_32
from vitviz.text import FOREIGN, round_share
from vitviz.training import fine_tuning_race
from vitviz.training.atomic_files import write_status
from vitviz.training.fine_tuning_race import BackboneSource, TargetTask, TuningMethod, race
from vitviz.training.run_directory import Run, Status
from vitviz.training.run_trainer import Session
from vitviz.training.start_weights import start_file

PAGE = "pages/train/fine_tuning/page.py"


@pytest.fixture
def shipped(no_shipped_checkpoints: Path) -> Path:
    ship(no_shipped_checkpoints, "mnist_vit", TINY, TrainConfig(dataset="mnist"), GREY)
    return no_shipped_checkpoints / "mnist_vit.safetensors"


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What the executor is asked to start; nothing is trained."""
    from pages.stores import runs

    given: list[Any] = []

    class Takes(FakeExecutor):
        def start(
            self, config: Any, address: str = "", first: bool = False, start: bytes | None = None
        ) -> Run:
            given.append((config, start))
            return Run.create(self.folder, config, start=start)

    monkeypatch.setattr(runs, "get_executor", lambda: Takes(tmp_path / "runs"))
    return given


def words(app: AppTest) -> str:
    return text(app, "caption", "error", "info")


def view(app: AppTest, name: str) -> dict[str, Any]:
    (found,) = [p.proto.bytes for p in app.main.get("bidi_component") if f"-fine_tuning.{name}" in p.proto.id]
    return unpack(body(found))[0]


def read_accuracies(app: AppTest) -> dict[str, Any]:
    """Return the test accuracies that the race shows, by model."""
    return read_race(*message(app, "fine_tuning.learning"))[1]


def test_without_a_trained_model_it_says_what_to_do(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert "live lab" in app.main.error[0].value and not app.main.selectbox


def test_before_it_starts_one_sees_what_is_kept_and_new(open_app: OpenApp, shipped: Path) -> None:
    app = open_app(PAGE)
    fates = {part["title"]: (part["fate"], part["shape"]) for part in view(app, "plan")["parts"]}
    assert list(fates) == ["E", "[CLS]", "positions", "layer 1", "final LayerNorm", "head"]
    assert fates["head"] == ("new", "10 × 16") and {fate for fate, _ in fates.values()} == {"kept", "new"}
    assert re.search(r"\b200 .*\b143 .*\b359 ", words(app)), "to learn from, held out, to test"


@pytest.mark.parametrize(
    ("colour", "begins"), [((200, 30, 30), "checkpoint:cifar10_vit"), ((90, 90, 90), "checkpoint:mnist_vit")]
)
def test_coloured_images_of_ones_own_begin_with_a_body_that_reads_colours(
    open_app: OpenApp, no_shipped_checkpoints: Path, colour: tuple[int, int, int], begins: str
) -> None:
    ship(no_shipped_checkpoints, "mnist_vit", TINY, TrainConfig(dataset="mnist"), GREY)
    colour_vit = replace(TINY, in_chans=3)
    ship(no_shipped_checkpoints, "cifar10_vit", colour_vit, TrainConfig(dataset="cifar10"), RGB_32)
    app = open_app(PAGE)
    assert app.main.selectbox(key="fine_tuning.source").value == "checkpoint:mnist_vit"
    user_datasets.store_dataset(app.session_state["_visit"], zip_of(colour), "mine", 8)
    app.run()
    assert app.main.selectbox(key="fine_tuning.dataset").value.startswith("own")
    assert app.main.selectbox(key="fine_tuning.source").value == begins and not app.exception
    assert "fine_tuning._colour" not in {button.key for button in app.main.button}, "it fits already"
    other = {"checkpoint:cifar10_vit": "checkpoint:mnist_vit"}.get(begins, "checkpoint:cifar10_vit")
    app.main.selectbox(key="fine_tuning.source").set_value(other).run()
    if other == "checkpoint:mnist_vit":
        assert "as their luminance" in words(app)
        app.main.button(key="fine_tuning._colour").click().run()
        assert app.main.selectbox(key="fine_tuning.source").value == begins, "what the page begins with"
    else:
        assert "grey in all three channels" in words(app) and "have colour" not in words(app)


@pytest.mark.parametrize(
    ("share", "returned"), [(1.0, "100"), (0.9995, "99.95"), (0.9912, "99.1"), (1 - 1e-6, "99.9999")]
)
def test_less_than_all_is_not_written_as_100_percent(share: float, returned: str) -> None:
    assert round_share(share) == f"{returned}\N{NO-BREAK SPACE}%"


def zip_of(colour: tuple[int, int, int]) -> bytes:
    """Return a zip of two classes of four images each."""
    return zipped(class_images(dict.fromkeys("ab", colour), count=4, side=8))


def test_a_higher_resolution_shows_the_positions_before_and_after(open_app: OpenApp, shipped: Path) -> None:
    app = open_app(PAGE, fine_tuning__larger="2")
    shown = view(app, "plan")
    assert shown["grids"] == [[4, 4], [8, 8]]
    (positions,) = [part for part in shown["parts"] if part["fate"] == "resized"]
    assert (positions["before"], positions["shape"]) == ("1 × 17 × 16", "1 × 65 × 16")
    assert re.search(r"32 px and now \w+ 64 px.* 32 px to 64 px", words(app))


def test_a_race_starts_after_a_prediction_with_the_weights_beside_it(
    open_app: OpenApp, shipped: Path, orders: list[Any]
) -> None:
    app = open_app(PAGE, fine_tuning__a_class="10", fine_tuning__seeds="2", fine_tuning__layer_decay="0.8")
    button = app.main.button(key="fine_tuning._start")
    assert button.disabled
    app.session_state["fine_tuning._guess"] = "tuned"
    app.run()
    app.main.button(key="fine_tuning._start").click().run()
    assert not app.exception
    ((config, start),) = orders
    assert [member.name for member in config.members] == ["tuned_0", "tuned_1", "scratch_0", "scratch_1"]
    tuned = config.train
    assert tuned.start_from == "mnist_vit" and tuned.start_digest == open_model(shipped).digest
    assert tuned.layer_decay == 0.8 and (tuned.a_class, tuned.train_fraction) == (10, 1.0)
    assert start == start_file(open_model(shipped))
    assert query_value(app, "fine_tuning.run") and read_accuracies(app) == {}


def test_a_body_that_is_no_vit_begins_with_rates_at_which_its_head_can(
    open_app: OpenApp, no_shipped_checkpoints: Path
) -> None:
    """A CNN's and a Swin's had the small ViT's."""
    cnn = CNNConfig(image_size=32, in_chans=1, widths=(4, 8), blocks=(1, 1))
    ship(no_shipped_checkpoints, "digits_cnn", cnn, TrainConfig(dataset="digits"), GREY)
    app = open_app(PAGE, fine_tuning__source="checkpoint:digits_cnn")
    rates = [
        app.main.number_input(key=f"fine_tuning.{name}").value
        for name in ("rate", "head_rate", "scratch_rate")
    ]
    assert rates == pytest.approx([1e-3, 1e-2, 3e-3])


def test_a_head_alone_learns_at_a_rate_at_which_it_can(open_app: OpenApp, shipped: Path) -> None:
    """It began with the rate of a head whose body learns too: 100 updates came to 56 %, its features hold 97 %."""
    app = open_app(PAGE)
    rate = app.main.number_input(key="fine_tuning.head_rate")
    assert rate.value == pytest.approx(1e-3)
    assert not view(app, "plan")["frozen"]
    app.main.button_group(key="fine_tuning.body").set_value("head").run()
    assert app.main.number_input(key="fine_tuning.head_rate").value == pytest.approx(0.03)
    assert view(app, "plan")["frozen"]
    app.main.button_group(key="fine_tuning.body").set_value("all").run()
    assert app.main.number_input(key="fine_tuning.head_rate").value == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"layer_decay": "2"}, "Layer-wise learning-rate decay must lie in (0, 1], received 2.0"),
        ({"head_rate": "20"}, "Learning rate of the head must lie in (0, 10]"),
        ({"scratch_rate": "0"}, "Learning rate must lie in (0, 10]"),
    ],
)
def test_a_rate_that_cannot_be_is_refused_before_it_starts(
    open_app: OpenApp, shipped: Path, asked: dict[str, str], refused: str
) -> None:
    """The button could be pressed, and then said 'layer_decay'."""
    app = open_app(PAGE, **{f"fine_tuning.{name}": value for name, value in asked.items()})
    assert f"This cannot be trained: {refused}" in words(app).replace(FOREIGN, "")
    assert "fine_tuning._start" not in {button.key for button in app.main.button}


def test_slower_early_layers_are_reported(shipped: Path) -> None:
    """It said the body's rate alone, at which no layer of it learned."""
    model = open_model(shipped)
    source = BackboneSource(model.title, model.digest, model.config, model.preparation)
    config = race(source, TargetTask("digits", 10, 100, 10), TuningMethod(seeds=1, layer_decay=0.7))
    assert re.search(r"0\.0003 .*\b0\.7 .*\b0\.001 ", tuning_race._describe_setup(config))
    plain = race(source, TargetTask("digits", 10, 100, 10), TuningMethod(seeds=1))
    assert re.search(r"0\.0003 \D*0\.001 ", tuning_race._describe_setup(plain))


def test_a_finished_race_says_its_numbers_and_its_link_restores_it(
    open_app: OpenApp, shipped: Path, tmp_path: Path
) -> None:
    run = _finished(shipped, tmp_path / "runs")
    app = open_app(PAGE, fine_tuning__run=run.id)
    tuned, scratch, frozen = (
        [share / 100 for share in trace["x"]] for trace in read_accuracies(app).values()
    )
    assert [len(shares) for shares in (tuned, scratch, frozen)] == [2, 2, 1]
    assert tuned + scratch == pytest.approx([member.status().test_accuracy for member in run.members()])
    assert re.search(r"\b359 test .*Fine-tuned", words(app))
    probe = f"{100 * frozen[0]:.1f} %"
    assert re.search(rf"logistic regression on \[CLS\].* {probe}.* patches: .*%", words(app))
    (link,) = (one.proto for one in app.main.get("page_link") if "live lab" in one.proto.label)
    assert run.id in link.query_string, "whose mistakes and pictures through training are there"

    app.session_state["fine_tuning.drawer.numbers"] = True
    table = app.run().main.dataframe[0].value
    assert list(table["seed"]) == [0, 1, 0, 1]
    assert list(table["test accuracy"]) == pytest.approx(tuned + scratch)
    assert str(run.config().train.start_digest) in words(app)

    changed = opened_again(app, app.session_state["_visit"], fine_tuning__view="changed")
    assert "final LayerNorm" not in words(changed) and "shares" in words(changed), "a prediction comes first"
    assert query_value(changed, "fine_tuning.run") == run.id and not changed.main.info
    changed.main.button_group(key="fine_tuning.moved_guess.row").set_value("final LayerNorm").run()
    assert not changed.exception and query_value(changed, "fine_tuning.moved_guess") == "final LayerNorm"
    assert any(re.search(r"final LayerNorm.*\d\s%", line.value) for line in changed.main.markdown)
    assert re.search(r"\b0\.001 .*\b0\.0003\b", words(changed)), "the learning rates"
    vit = as_vit(open_model(shipped).config)
    tokens = vit.grid[0] * vit.grid[1] + len(vit.prefix_tokens)
    assert re.search(rf"{tokens} tokens\D* {100 / tokens:.1f} %", words(changed))


def test_models_of_a_race_under_way_are_reported_to_stand_at_their_update(
    monkeypatch: pytest.MonkeyPatch, shipped: Path, tmp_path: Path
) -> None:
    """Opened in the middle of a race it showed the weights after one update, and did not say so."""
    from pages.train.fine_tuning import weight_changes

    run = _finished(shipped, tmp_path / "runs")
    assert weight_changes._describe_progress(run) == ""
    monkeypatch.setattr(
        weight_changes.runs, "read_status", lambda run: Status("running", step=3, total_steps=4)
    )
    run.members()[0].snapshot_path(4).unlink()
    before, last = run.members()[1].snapshots()[-2:]
    assert last == 4 and f"updates {before} or 4 of 4" in weight_changes._describe_progress(run)
    for member in run.members()[1:]:
        member.snapshot_path(4).unlink()
    assert f"update {before} of 4" in weight_changes._describe_progress(run)


def test_who_has_a_races_link_does_not_steer_it(open_app: OpenApp, shipped: Path, tmp_path: Path) -> None:
    run = _finished(shipped, tmp_path / "runs")
    write_status(run.directory / "status.json", asdict(replace(run.status(), state="stopped")))
    app = open_app(PAGE, fine_tuning__run=run.id)
    assert "Resume" not in {button.label for button in app.main.button}
    assert "Resume" in {button.label for button in belongs(app, run).main.button}


def test_a_race_of_two_rates_offers_buttons_but_no_change_of_one_rate(
    open_app: OpenApp, shipped: Path, tmp_path: Path
) -> None:
    """One peak learning rate would be set for the backbone and for the model from scratch."""
    run = _finished(shipped, tmp_path / "runs")
    write_status(run.directory / "status.json", asdict(replace(run.status(), state="paused")))
    app = belongs(open_app(PAGE, fine_tuning__run=run.id), run)
    assert {"Resume", "Step", "Stop"} <= {button.label for button in app.main.button}
    assert "Peak learning rate" not in {control.label for control in app.main.number_input}
    config = run.config()
    assert not config.has_one_rate and replace(config, members=config.members[:2]).has_one_rate
    task = TargetTask("digits", 10, 100, 10, drawn=True)
    method = TuningMethod(body="head", updates=4, batch_size=16, seeds=1)
    assert not race(BackboneSource("A ViT", "0" * 64, TINY, GREY), task, method).has_one_rate


@pytest.mark.parametrize(
    ("before", "state", "again"),
    [(False, "queued", True), (True, "running", False), (True, "done", True), (False, "done", False)],
)
def test_a_race_that_was_resumed_is_polled_again(
    monkeypatch: pytest.MonkeyPatch, before: bool, state: str, again: bool
) -> None:
    """'Resume' ran the fragment alone, whose polling had ended: 'waiting for a free slot' stood there for good."""
    kept, reruns, ends = {run_start.WATCHED: before, run_start.SLOWNESS: 1.0}, [], []
    monkeypatch.setattr(run_start.st, "session_state", kept)
    monkeypatch.setattr(run_start.st, "rerun", lambda: reruns.append(1))
    monkeypatch.setattr(run_start, "session", MagicMock())
    monkeypatch.setattr(run_start.runs, "mark_active", lambda user: None)
    monkeypatch.setattr(run_start.runs, "read_status", lambda run: Status(state))
    monkeypatch.setattr(run_start.runs, "get_slowness", lambda: 1.0)  # whoever else watches in this process
    run_start.draw_followed([object()], lambda: None, lambda: ends.append(1))
    assert bool(reruns) == again and kept[run_start.WATCHED] == Status(state).active
    assert bool(ends) == (before and state == "done")


def test_random_weights_are_reported(open_app: OpenApp, shipped: Path) -> None:
    app = open_app(PAGE, model="checkpoint:mnist_vit", step="0")
    assert any("weights are random" in warning.value for warning in app.main.warning)


def test_a_race_that_is_gone_is_reported(open_app: OpenApp, shipped: Path) -> None:
    app = open_app(PAGE, fine_tuning__run="261122-000000-0123456789abcdef")
    assert any("link" in warning.value for warning in app.main.warning)


def _finished(shipped: Path, folder: Path) -> Run:
    model = open_model(shipped)
    source = BackboneSource(model.title, model.digest, model.config, model.preparation)
    task = TargetTask("digits", 10, 100, 10, drawn=True)
    config = race(source, task, TuningMethod(updates=4, batch_size=16, seeds=2))
    assert config.preset == fine_tuning_race.PRESET
    run = Run.create(folder, config, start=start_file(model))
    assert Session(run, "cpu").perform().state == "done"
    return run


def test_it_opens_on_a_recorded_race_whose_curves_wait_for_a_prediction(
    open_app: OpenApp, shipped: Path
) -> None:
    app = open_app(PAGE)
    header, arrays = message(app, "fine_tuning.recorded")
    (concealed,) = place_arrays(header["charts"], arrays)
    *lines, low, high = concealed["data"]
    assert all(line["y"] == [None] for line in lines) and not read_race(header, arrays)[1]
    app.session_state["fine_tuning._guess"] = "tuned"
    app.run()
    header, shown = message(app, "fine_tuning.recorded")
    rows = read_result("transfer").where(source="mnist_vit", a_class=20)
    tests = {name: [row["test"] for row in rows if row["method"] == name] for name in ("tuned", "scratch")}
    points = read_race(header, shown)[1].values()
    assert [trace["x"] for trace in points] == [pytest.approx(100 * np.array(tests[name])) for name in tests]
    curves = place_arrays(header["charts"][0]["data"], shown)
    seeds = np.stack([trace["y"] for trace in curves if trace["mode"] == "lines"])
    assert len(seeds) == 2 * 3
    np.testing.assert_allclose([low["y"], high["y"]], [seeds.min(axis=0), seeds.max(axis=0)], rtol=1e-6)
    assert np.isclose(high["x"][-1], 24)  # 150 updates of 32 of the 200 images
    assert min(tests["tuned"]) > max(tests["scratch"])
    assert "Measured: fine-tuned." in "".join(part.value for part in app.main.markdown), (
        "it answers the prediction too"
    )
