"""What the pages say where the runs' folder cannot be written, and when it goes while they show it."""

from __future__ import annotations

import errno
import os
import shutil
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.frame import run_panel
from pages.frame.run_start import rerun_if_deleted
from pages.stores import runs
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, belongs, errors, start_button
from tests.robustness.no_writing import read_only
from tests.robustness.run_files import full_disk
from tests.robustness.test_uploaded_datasets import archive
from tests.unit.training_helpers import duplicate
from vitviz.training import run_archive
from vitviz.training.atomic_files import write_status
from vitviz.training.run_archive import export_run
from vitviz.training.run_directory import Run, RunError, Status


def warned(app: AppTest) -> str:
    return "\n".join(warning.value for warning in app.main.warning).replace("\\", "")


def test_a_run_is_looked_at_in_a_folder_that_cannot_be_written(
    open_app: OpenApp, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    with read_only(folder, monkeypatch):
        assert not app.run().exception
        for page in ("pages/lenses/patches/page.py", "pages/lenses/attention_distance/page.py"):
            lens = open_app(page, model=f"run:{run.id}")
            assert lens.sidebar.selectbox(key="model").value == f"run:{run.id}"


def test_a_full_disk_is_named(open_app: OpenApp, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full_disk)
        start_button(app).click().run()
    assert (
        warned(app) == "The run could not start: no run can be stored in the runs' folder: the disk is full."
    )


def test_what_cannot_be_written_is_reported(
    open_app: OpenApp, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    with read_only(folder, monkeypatch):
        start_button(app).click().run()
        assert "could not start" in warned(app) and "(Read-only file system)" in warned(app)
        app.main.text_input(key=f"live_lab._name_{run.id}").set_value("Renamed").run()
        assert warned(app) == "The name could not be saved (Read-only file system)."
        app.main.button(key="live_lab._share").click().run()
        assert warned(app) == "The run could not be shared (Read-only file system)."
        app.main.button(key="live_lab._delete").click().run()
        assert warned(app) == "The run could not be deleted (Read-only file system)."
    assert run.config().name == "A tiny one" and run.snapshots()
    assert not app.button(key="live_lab._notice.dismiss").click().run().exception and not app.main.warning


def under_way(run: Run) -> Run:
    """The same run as if it trained."""
    status = replace(run.status(), state="running", pid=os.getpid(), heartbeat=time.time())
    write_status(run.directory / "status.json", asdict(status))
    return run


def test_a_stop_that_did_not_arrive_is_not_said_to_be_under_way(
    open_app: OpenApp, run: Run, executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def full(run: Run) -> None:
        tried.append(run.id)
        raise OSError(errno.ENOSPC, "No space left on device")

    app = belongs(open_app(PAGE, live_lab__run=under_way(run).id), run)
    with monkeypatch.context() as patch:
        patch.setattr(executor, "stop", full, raising=False)
        app.run()
        app.main.button(key=f"live_lab._stop_{run.id}").click().run()
        assert tried == [run.id] and not app.exception
    app.run()
    returned = "Stopping after the current step"
    assert not any(returned in caption.value for caption in app.main.caption)
    app.main.button(key=f"live_lab._stop_{run.id}").click().run()
    assert any(returned in caption.value for caption in app.main.caption)


def test_a_refused_change_is_reported_of_its_own_run_alone(open_app: OpenApp, run: Run) -> None:
    twin = duplicate(run, name="Twin")
    app = belongs(open_app(PAGE, live_lab__run=under_way(run).id), run)
    belongs(app, under_way(twin))
    app.main.number_input(key=f"live_lab._set_learning_rate_{run.id}").set_value(-1.0).run()
    assert "Learning rate must lie in" in errors(app)
    app.session_state["_visit"].runs = (run.id, twin.id)
    app.run()
    app.main.selectbox(key="live_lab.run").set_value(twin.id).run()
    assert app.main.number_input(key=f"live_lab._set_learning_rate_{twin.id}") and not errors(app)
    assert app.session_state[run_panel.SHOWN_RATES][0] == twin.id  # what was held of the one before is gone


def test_own_images_that_cannot_be_stored_or_removed_are_reported(
    open_app: OpenApp, executor: FakeExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app(PAGE)
    with read_only(executor.folder, monkeypatch):
        upload(app)
        assert "could not be stored (Read-only file system)." in errors(app)
    upload(app)
    assert app.main.selectbox(key="live_lab.dataset").value.startswith("own:")
    with read_only(executor.folder, monkeypatch):
        assert not app.run().exception
        app.main.button(key="live_lab._own_remove").click().run()
        assert "The images could not be deleted (Read-only file system)." in errors(app)
    assert app.main.selectbox(key="live_lab.dataset").value.startswith("own:")


def test_runs_that_go_while_they_are_looked_at_are_reported(
    open_app: OpenApp, run: Run, folder: Path
) -> None:
    app = belongs(open_app(PAGE, live_lab__run=run.id), run)
    lens = open_app("pages/lenses/patches/page.py", model=f"run:{run.id}")
    shutil.rmtree(folder)
    assert not app.run().exception and warned(app) == "1 run is missing: deleted or expired on this server."
    assert app.run().main.warning
    assert not lens.run().exception
    assert lens.sidebar.selectbox(key="model").value != f"run:{run.id}"
    start_button(app).click().run()
    assert not app.exception and len(list(folder.glob("*/config.json"))) == 1  # a new folder is made


def test_a_part_that_polls_runs_the_page_anew_where_its_run_has_gone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew: list[bool] = []
    monkeypatch.setattr("streamlit.rerun", lambda: anew.append(True))
    draw = rerun_if_deleted(lambda shown, focus: focus.config())
    draw([run], run)
    (run.directory / "snapshots").rename(run.directory / "elsewhere")
    with pytest.raises(RunError):  # what is wrong with a run that is there is not hidden
        rerun_if_deleted(lambda shown: shown[0].snapshot_path())([run])
    shutil.rmtree(run.directory)
    draw([run], run)
    assert anew == [True]


def upload(app: AppTest) -> None:
    (uploader,) = [one for one in app.get("file_uploader") if one.label.startswith("Zip with one folder")]
    uploader.upload("pets.zip", archive(8), "application/zip")
    app.run()
    assert not app.exception, app.exception[0].message


def test_a_cluster_that_does_not_answer_is_reported_to_who_waits(
    open_app: OpenApp, run: Run, executor: FakeExecutor
) -> None:
    write_status(run.directory / "status.json", asdict(Status("queued", heartbeat=time.time())))
    executor.silent = "the Dask cluster at tcp://127.0.0.1:1 does not respond"
    app = open_app(PAGE, live_lab__run=run.id)
    (bar,) = app.main.get("progress")
    assert "position 2; the Dask cluster at tcp://127.0.0.1:1 does not respond" in bar.proto.text


def test_who_brings_in_too_many_runs_is_told_so(
    open_app: OpenApp, trained: Run, executor: FakeExecutor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "_intakes", {})
    monkeypatch.setenv("VITVIZ_RUNS", str(folder))
    monkeypatch.setattr(run_archive, "UPLOADS_PER_USER", 1)
    app, data = open_app(PAGE), export_run(trained)

    def bring() -> None:
        (uploader,) = [one for one in app.get("file_uploader") if one.label == "Zip of a downloaded run"]
        uploader.upload("run.zip", data, "application/zip")
        app.run()
        assert not app.exception, app.exception[0].message

    bring()
    assert len(list(folder.glob("*/config.json"))) == 1
    bring()
    assert len(list(folder.glob("*/config.json"))) == 1
    assert "1 run came from you within an hour" in app.main.warning[0].value
