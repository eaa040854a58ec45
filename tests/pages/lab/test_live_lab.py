"""The live lab over real run directories; the executor is a stand-in, so that no process is started."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.controls import session_keys
from pages.frame import run_panel
from pages.stores import runs, session
from pages.stores.record_arrays import Records
from pages.train.lab import flip_book
from tests.pages.lab.helpers import CONFIG, PAGE, FakeExecutor, OpenApp, belongs, errors, until, view
from tests.strokes import encode_strokes
from tests.unit.training_helpers import duplicate
from vitviz.models.zoo import create_model
from vitviz.training.atomic_files import append_lines, read_lines, write_status
from vitviz.training.presets import TRAINING_PRESETS
from vitviz.training.records import Snapshot
from vitviz.training.run_directory import Run, Status
from vitviz.training.run_trainer import Session
from vitviz.training.snapshot_files import save_snapshot


@pytest.mark.parametrize("image", ["sample:cat", "shapes:3", "drawing:0404"])
def test_a_run_is_shown_on_an_image_of_its_dataset(
    open_app: OpenApp, executor: FakeExecutor, run: Run, image: str
) -> None:
    app = open_app(PAGE, model="preset:vit_cifar10", image=image, live_lab__run=run.id)
    current = app.session_state[session_keys.SELECTION]
    assert (current.model, current.image.partition(":")[0]) == (f"run:{run.id}", "digits")


@pytest.mark.parametrize(
    ("state", "sentence", "waiting"),
    [
        ("stopped", "The run ended before its first evaluation.", "The run ended before its first snapshot."),
        ("queued", "Waiting to start…", "Waiting for the first snapshot…"),
        (
            "running",
            "The first record is expected within two seconds.",
            "Waiting for the first snapshot…",
        ),
    ],
)
def test_a_run_without_records_says_what_its_state_is(
    open_app: OpenApp, executor: FakeExecutor, state: str, sentence: str, waiting: str
) -> None:
    run = Run.create(executor.folder, CONFIG)
    status = Status(state, heartbeat=time.time(), pid=os.getpid())
    write_status(run.directory / "status.json", asdict(status))
    app = open_app(PAGE, live_lab__run=run.id)
    assert sentence in [caption.value for caption in app.main.caption]
    assert [view(app, key)[0]["waiting"] for key in ("life", "pad")] == [waiting] * 2


def test_a_reload_keeps_the_curves_beside_and_the_moment(
    open_app: OpenApp, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.stores import session

    monkeypatch.setattr(session, "secrets", type("Named", (), {"token_urlsafe": lambda count: "r" * 22}))
    twin = duplicate(run, name="Twin")
    before = open_app(PAGE, live_lab__run=run.id)
    before.session_state["_visit"].runs = (run.id, twin.id)
    before.run()
    before.main.multiselect(key="live_lab._beside").set_value([twin.id]).run()
    marked = run.snapshots()[1]
    before.session_state["live_lab.life"] = {"moment": {"run": run.id, "step": marked, "follow": False}}
    before.run()
    after = open_app(PAGE, live_lab__run=run.id)  # a new session of the same visit
    assert after.main.multiselect(key="live_lab._beside").value == [twin.id]
    header, _ = view(after, "curves")
    assert [label["name"] for label in header["runs"]] == ["A tiny one", "Twin"] and header[
        "moment"
    ] == marked


def test_a_run_in_the_link_is_shown_whole(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run=run.id)
    header, arrays = view(app, "curves")
    assert {(part["run"], part["split"]) for part in header["series"]} == {
        (run.id, "train"),
        (run.id, "validation"),
    }
    assert arrays["series0"].shape[1] == run.status().step
    assert app.session_state["_selection"].model == f"run:{run.id}", "the sidebar follows the run"
    assert arrays["series1"][4, -1] == np.float32(run.status().accuracy)
    words = "\n".join(caption.value for caption in app.main.caption)
    (images,) = {part["images"] for part in header["series"] if part["split"] == "validation"}
    assert images > 0 and f"interval over {images} validation images" in words
    assert f"Test accuracy {100 * run.status().test_accuracy:.1f}\N{NO-BREAK SPACE}%." in words
    app.session_state["live_lab.drawer.numbers"] = True
    app.run()
    assert any("**Parameters: " in text.value for text in app.main.markdown)
    assert app.main.dataframe[0].value["State"].tolist() == ["done"]


def test_the_axis_of_a_run_that_stopped_at_its_aim_ends_with_it(open_app: OpenApp, run: Run) -> None:
    """A run that ended after a tenth of its epochs was drawn in a tenth of the image."""
    path = run.directory / "status.json"
    early = json.loads(path.read_text()) | {"total_steps": 1000, "message": "it stopped at its aim"}
    path.write_text(json.dumps(early))
    (label,) = view(open_app(PAGE, live_lab__run=run.id), "curves")[0]["runs"]
    assert label["total"] == {}
    path.write_text(json.dumps(early | {"state": "stopped"}))  # it may be resumed
    (label,) = view(open_app(PAGE, live_lab__run=run.id), "curves")[0]["runs"]
    assert label["total"]["step"] == 1000


def test_a_lecture_s_recipe_has_what_the_lecture_printed_behind_it(
    open_app: OpenApp, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run.config()
    recipe = replace(
        TRAINING_PRESETS["recipe_d"],
        model=config.model,
        preparation=config.preparation,
        train=replace(config.train, epochs=20.0),
    )
    monkeypatch.setitem(
        TRAINING_PRESETS, "recipe_d", recipe
    )  # as though the lecture had trained this small one
    path = run.directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "preset": "recipe_d"}))
    header, arrays = view(open_app(PAGE, live_lab__run=run.id), "curves")
    assert [series["ghost"] for series in header["series"]] == ["", "", "lecture D"]
    ghost, total = arrays["series2"], run.status().total_steps or 0
    np.testing.assert_allclose(ghost[0], np.arange(1, 21) * total, rtol=1e-6)  # this run is one epoch long
    assert np.isnan(ghost[2]).all() and ghost[3][[0, -1]].tolist() == pytest.approx([0.4776, 0.8835])


def test_the_flip_book_grows_until_every_snapshot_is_there(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run=run.id)
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    header, arrays = view(app, "life")
    steps = len(header["steps"])
    assert arrays["attention"].shape == (steps, 2, 2, 4, 4)
    assert arrays["similarity"].shape == (steps, 4, 4, 4, 4)
    assert arrays["filters"].shape == (steps, 3, 3, 8, 8, 3)  # 16 filters have 15 components
    assert arrays["distance"].shape == (steps, 2, 2)
    assert arrays["norms"].shape == (steps, 2, 3)
    norms = next(image for image in header["pictures"] if image["name"] == "norms")
    assert norms["series"] == ["median patch", "largest patch", "[CLS]"] and "[CLS]" in norms["captions"][0]
    assert arrays["confusion"].shape == (steps, 1, 1, 10, 10)
    assert (arrays["similarity"][:, 0, 0, 0, 0] == 255).all()  # a position is like itself
    assert len(re.findall(r"\d\.\d\d", header["pictures"][1]["captions"][0])) == 2, "two similarities"


def test_a_single_patch_has_its_images_too(open_app: OpenApp, folder: Path, executor: FakeExecutor) -> None:
    run = Run.create(folder, replace(CONFIG, model=replace(CONFIG.model, patch_size=32)))
    assert Session(run, device="cpu").perform().state == "done"
    app = open_app(PAGE, live_lab__run=run.id)
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    assert view(app, "life")[1]["distance"].max() == 0
    assert not app.exception


def test_the_page_itself_computes_no_frame_and_two_sessions_share_them(
    open_app: OpenApp, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.train.lab import snapshots

    made: list[tuple[int, str]] = []
    compute = snapshots.compute_frame

    def counted(run_id: str, version: snapshots.Version, *rest: Any) -> snapshots.Frame:
        made.append((version.step, threading.current_thread().name))
        return compute(run_id, version, *rest)

    monkeypatch.setattr(snapshots, "compute_frame", counted)
    one = open_app(PAGE, live_lab__run=run.id)
    other = open_app(PAGE, live_lab__run=run.id, pin="0.1,0.1")  # another attention, the same frames
    until(one, lambda: view(one, "life")[0]["steps"] == run.snapshots())
    until(other, lambda: view(other, "life")[0]["steps"] == run.snapshots())
    assert sorted(step for step, _ in made) == run.snapshots()
    assert {thread for _, thread in made} == {"vitviz-background"}
    marks = [view(app, "life")[0]["pictures"][0]["mark"] for app in (one, other)]
    assert marks[0] != marks[1] == [0, 0]


def test_another_pin_keeps_the_book_until_its_own_is_whole(
    open_app: OpenApp, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.train.lab import snapshots

    app = open_app(PAGE, live_lab__run=run.id)
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    compute, go_on = snapshots.compute_attention, threading.Event()

    def held(run_id: str, version: snapshots.Version, *rest: Any) -> np.ndarray | None:
        assert go_on.wait(60)
        return compute(run_id, version, *rest)

    monkeypatch.setattr(snapshots, "compute_attention", held)
    app.query_params["pin"] = "0.1,0.1"
    app.run()
    assert view(app, "life")[0]["steps"] == run.snapshots()
    go_on.set()
    until(app, lambda: view(app, "life")[0]["pictures"][0].get("mark") == [0, 0])
    assert view(app, "life")[0]["steps"] == run.snapshots()


@pytest.mark.parametrize(
    ("step", "ending"), [(68, "validation 72.7\xa0%"), (71, "validation 72.7\xa0% at step 68")]
)
def test_a_snapshot_names_the_step_of_an_older_validation(step: int, ending: str) -> None:
    table = np.array([[34, 68], [0.5, 0.727]])
    assert flip_book._describe_step(step, Records(), table).endswith(f"· {ending}")


def test_a_snapshot_that_cannot_be_read_is_reported_and_holds_nothing_up(open_app: OpenApp, run: Run) -> None:
    broken = run.snapshots()[1]
    run.snapshot_path(broken).write_bytes(b"no weights")
    app = open_app(PAGE, live_lab__run=run.id)
    rest = [step for step in run.snapshots() if step != broken]
    until(app, lambda: view(app, "life")[0]["steps"] == rest)
    until(app, lambda: not app.session_state["live_lab._growing"])
    returned = "\n".join(warning.value for warning in app.main.warning)
    assert f"step {broken}: " in returned.replace("\\", "")


def test_a_snapshot_made_anew_is_shown_anew_and_one_let_go_is_not_offered(
    open_app: OpenApp, run: Run
) -> None:
    """A resumed run cuts off what lies after its save, and may make the same steps with other weights."""
    app = open_app(PAGE, live_lab__run=run.id)
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    last, before = run.snapshots()[-1], view(app, "life")[1]["filters"]
    run.snapshot_path(last).unlink()
    app.run()
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    assert last not in view(app, "life")[0]["steps"]
    weights = create_model(CONFIG.model, seed=9).state_dict()
    save_snapshot(run, CONFIG, tuple("0123456789"), Snapshot(last, 1.0, 1.0, weights))
    app.run()
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    assert not np.array_equal(view(app, "life")[1]["filters"][-1], before[-1])


def test_a_drawn_digit_is_read_by_the_newest_snapshot(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run=run.id)
    app.session_state["live_lab.pad"] = {"drawing": encode_strokes([np.array([[240, 80], [240, 430]])])}
    app.run()
    header, arrays = view(app, "pad")
    assert header["model"] == f"step {run.snapshots()[-1]:,}"
    # Training dragged back does not make it unreadable, unless that is asked for.
    app.session_state["live_lab._moment"] = {"run": run.id, "step": 0, "follow": False}
    app.run()
    assert view(app, "pad")[0]["model"] == f"step {run.snapshots()[-1]:,}"
    app.main.toggle(key="live_lab._pad_at_moment").set_value(True).run()
    assert view(app, "pad")[0]["model"] == "step 0"
    assert arrays["probabilities"].sum() == pytest.approx(1, abs=1e-5)
    assert arrays["attention"].shape == (4, 4)


def test_what_happened_after_a_kill_is_reported_and_resume_is_offered(
    open_app: OpenApp, run: Run, executor: FakeExecutor
) -> None:
    status = replace(run.status(), state="interrupted", message="the trainer's process is gone")
    write_status(run.directory / "status.json", asdict(status))
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    assert "The trainer's process is gone" in errors(app)
    app.main.button(key=f"live_lab._resume_{run.id}").click().run()
    assert executor.orders == [("resume", run.id)]


def test_a_run_that_waited_on_a_dead_server_is_not_called_waiting(
    open_app: OpenApp, run: Run, executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "queue_position", lambda run: None)
    write_status(run.directory / "status.json", asdict(replace(run.status(), state="queued", heartbeat=0.0)))
    app = open_app(PAGE, live_lab__run=run.id)
    assert "The server was restarted while this run was queued" in errors(app)


def test_runs_are_compared_by_their_differences_only(open_app: OpenApp, run: Run) -> None:
    twin = duplicate(run, model=replace(CONFIG.model, positions="none"), name="No positions")
    best = {
        "kind": "evaluation",
        "split": "validation",
        "step": 99,
        "epoch": 4,
        "seconds": 12.5,
        "accuracy": 0.96,
    }
    append_lines(twin.directory / "records.jsonl", [best, best | {"seconds": 15.0, "accuracy": 0.955}])
    app = open_app(PAGE, live_lab__run=run.id)
    app.session_state["_visit"].runs = (run.id, twin.id)
    app.run()
    shown = app.main.dataframe[0].value
    assert shown["positions"].tolist() == ["Learned", "No positions"]
    assert "depth" not in shown
    assert (shown["validation"][1], shown["to_95"][1]) == (0.96, 12.5)
    app.main.multiselect(key="live_lab._beside").set_value([twin.id]).run()
    header, _ = view(app, "curves")
    assert [label["name"] for label in header["runs"]] == ["A tiny one", "No positions"]


def test_rename_copy_and_delete(open_app: OpenApp, run: Run) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    app.main.text_input(key=f"live_lab._name_{run.id}").set_value("Renamed").run()
    assert run.config().name == "Renamed"
    (copy,) = [button for button in app.main.button if button.label == "Copy settings"]
    copy.click().run()
    assert app.main.number_input(key="live_lab.embed_dim").value == 16
    app.main.button(key="live_lab._delete").click().run()
    assert not app.exception
    assert not run.directory.exists()
    assert "Start training" in app.main.info[0].value


def test_every_step_of_a_run_opens_in_a_lens(open_app: OpenApp, run: Run) -> None:
    for step in (0, run.snapshots()[-1]):
        app = open_app("pages/lenses/patches/page.py", model=f"run:{run.id}", step=str(step))
        chosen = app.sidebar.selectbox(key="model")
        assert chosen.value == f"run:{run.id}" and chosen.options[0].startswith("Run · "), "it is not theirs"
        assert not app.exception


def test_a_hostile_run_id_is_no_run(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, live_lab__run="../../etc", model="run:../../etc")
    assert "Start training" in app.main.info[0].value


def test_only_the_user_changes_a_run_that_trains(open_app: OpenApp, run: Run) -> None:
    status = replace(run.status(), state="running", pid=os.getpid(), heartbeat=time.time())
    unsaid = replace(status, learning_rate=0.0, weight_decay=0.0)  # before the trainer's first word
    write_status(run.directory / "status.json", asdict(unsaid))
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    notes = [caption.value for caption in app.sidebar.caption]
    assert any(note.startswith(f"Step {run.snapshots()[-1]:,} of a run in training") for note in notes)
    key = f"live_lab._set_learning_rate_{run.id}"
    assert app.main.number_input(key=key).value == CONFIG.train.learning_rate
    write_status(run.directory / "status.json", asdict(status))
    app.run()
    assert not (run.directory / "control.jsonl").exists()
    app.main.number_input(key=key).set_value(1e-4).run()
    (command,) = read_lines(run.directory / "control.jsonl")[0]
    assert (command["command"], command["learning_rate"]) == ("set", 1e-4)
    append_lines(
        run.directory / "records.jsonl",
        [{"kind": "event", "event": "changed", "step": 21, "learning_rate": 1e-4}],
    )
    app.run()
    (label,) = view(app, "curves")[0]["runs"]
    assert label["changes"] == [[21, "lr 0.0001"]]
    words = "\n".join(caption.value for caption in app.main.caption)
    assert "peak learning rate 0.003 → 0.0001 at step 21." in words
    write_status(run.directory / "status.json", asdict(replace(status, learning_rate=2e-4)))
    app.run()
    assert app.main.number_input(key=key).value == 2e-4, (
        "set in another tab: it stood at what this one had said"
    )
    assert len(read_lines(run.directory / "control.jsonl")[0]) == 1, "which is no change of this one's"
    app.main.number_input(key=key).set_value(-1.0).run()
    assert "Learning rate must lie in (0, 10]" in errors(app)


def test_a_link_to_a_missing_run_says_so(open_app: OpenApp, run: Run) -> None:
    app = open_app(PAGE, live_lab__run="250101-120000-0123456789abcdef")
    assert any("run of this link is missing" in warning.value for warning in app.main.warning)
    assert not open_app(PAGE, live_lab__run=run.id).main.warning


def test_who_may_not_change_a_run_steers_nothing_by_a_tab_that_is_still_open(
    open_app: OpenApp, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buttons of an editor who was sent out went on working until the next drawing."""
    reported: list[object] = []
    monkeypatch.setattr(runs, "may_change", lambda user_session, run: False)
    monkeypatch.setattr(session, "get_current", lambda: None)
    monkeypatch.setattr(Run, "control", lambda self, what, **values: reported.append(what))
    run_panel.st.session_state[run_panel._get_rate_key(run, "weight_decay")] = 0.1
    run_panel._send_command(run, reported.append, True)
    run_panel.apply_change(run, "weight_decay")
    assert reported == []
