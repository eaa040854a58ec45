"""Following a run that trains, from any page: its newest step is the one that is shown."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import shared_results
from tests.pages.conftest import OpenApp
from vitviz.config import TrainConfig, ViTConfig
from vitviz.models.presets import GREY_32
from vitviz.training.atomic_files import write_status
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status
from vitviz.training.run_trainer import Session

PAGE = "pages/lenses/attention/page.py"
CONFIG = RunConfig(
    ViTConfig(image_size=32, patch_size=8, in_chans=1, embed_dim=16, depth=1, num_heads=2, mlp_ratio=1.0),
    GREY_32,
    TrainConfig(dataset="digits", epochs=1, batch_size=256, snapshots=4),
    "A tiny one",
    "digits_live",
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run that says that it trains, with all but its last snapshot."""
    shared_results.clear_caches()
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path))
    made = Run.create(tmp_path, CONFIG)
    assert Session(made, device="cpu").perform().state == "done"
    last = made.snapshot_path()
    shutil.move(last, tmp_path / last.name)
    say(made, "running")
    return made


def say(run: Run, state: str) -> None:
    write_status(run.directory / "status.json", asdict(Status(state, pid=os.getpid(), heartbeat=time.time())))


def switch(app: AppTest):
    return [toggle for toggle in app.sidebar.toggle if toggle.label == "Follow the newest step"]


def test_the_newest_step_is_followed_until_the_run_ends(open_app: OpenApp, run: Run, tmp_path: Path) -> None:
    early = run.snapshots()[1]
    app = open_app(PAGE, model=f"run:{run.id}", step=str(early), image="digits:0")
    assert app.query_params["step"] == str(early)  # the link says which step: nobody has asked to follow yet
    switch(app)[0].set_value(True).run()
    assert app.query_params["step"] == str(run.snapshots()[-1])
    slider = app.sidebar.select_slider(key="step")
    assert slider.disabled
    (late,) = tmp_path.glob("*.safetensors")
    shutil.move(late, run.directory / "snapshots" / late.name)
    app.run()
    assert app.query_params["step"] == late.stem.lstrip("0")
    switch(app)[0].set_value(False).run()
    assert not app.sidebar.select_slider(key="step").disabled
    assert app.query_params["step"] == late.stem.lstrip("0")
    say(run, "done")
    assert not switch(app.run())


def test_a_finished_run_offers_nothing_to_follow(open_app: OpenApp, run: Run) -> None:
    say(run, "done")
    app = open_app(PAGE, model=f"run:{run.id}", image="digits:0")
    assert app.sidebar.selectbox(key="model").value == f"run:{run.id}" and not switch(app)
