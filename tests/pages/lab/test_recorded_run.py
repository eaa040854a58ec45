"""The lab plays the recorded run that the app was opened on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import vitviz
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, view
from vitviz.config import ViTConfig
from vitviz.models.zoo import create_model

CONFIG = ViTConfig(image_size=16, patch_size=4, in_chans=3, num_classes=5, embed_dim=16, depth=2, num_heads=2)
IMAGES = [np.random.default_rng(seed).integers(0, 256, (20, 24, 3), np.uint8) for seed in range(2)]


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> vitviz.Recorder:
    torch.manual_seed(0)
    monkeypatch.setattr("vitviz.recorder.FREE_S", 1e9)
    monkeypatch.setenv("VITVIZ_RECORDED", str(tmp_path / "recorded"))
    return vitviz.record(create_model(CONFIG), IMAGES, tmp_path / "recorded", title="Mine *bold*")


def test_moments_and_curves_are_those_of_the_folder(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder
) -> None:
    for step, loss in enumerate((2.0, 1.5, 1.25)):
        recorder.step(step, loss=loss, accuracy=step / 4)
    recorder.close()
    app = open_app(PAGE)
    assert not app.exception and not app.error
    header, arrays = view(app, "recorded")
    assert header["runs"][0]["name"] == "Mine *bold*"
    loss = next(array for name, array in arrays.items() if array.ndim == 2 and array.shape[1] == 3)
    assert loss[0].tolist() == [0, 1, 2]
    book, _ = view(app, "life")
    assert book["steps"] == [0, 1, 2] and book["plays"]
    assert any("Mine \\*bold\\*" in element.value for element in app.markdown)
    assert not app.sidebar.selectbox  # which would name a model and an image that the page does not show


def test_the_page_follows_a_recording_that_goes_on(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder
) -> None:
    recorder.step(0, loss=2.0)
    app = open_app(PAGE)
    assert view(app, "life")[0]["steps"] == [0] and not view(app, "life")[0]["plays"]
    recorder.step(1, loss=1.0)
    app.run()
    assert view(app, "life")[0]["steps"] == [0, 1]


def test_another_image_and_query_show_their_own_attention(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder
) -> None:
    recorder.step(0, loss=2.0)
    recorder.close()
    app = open_app(PAGE)
    maps = {view(app, "life")[1]["attention"].tobytes()}
    for label, choice in (("Attention of", recorder.run.config.queries[-1]), ("Image", 1)):
        next(box for box in app.selectbox if box.label == label).select(choice).run()
        assert not app.exception
        maps.add(view(app, "life")[1]["attention"].tobytes())
    assert len(maps) == 3


def test_a_damaged_or_newer_run_shows_one_sentence(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder
) -> None:
    recorder.step(0, loss=2.0)
    recorder.step(1, loss=2.0)
    recorder.close()
    folder = recorder.run.directory
    (folder / "moments" / "000000001.npz").write_bytes(b"no archive")
    app = open_app(PAGE)
    assert not app.exception and view(app, "life")[0]["steps"] == [0]
    assert "step 1" in app.warning[0].value
    image = (folder / "images" / "0.png").read_bytes()
    (folder / "images" / "0.png").write_bytes(image[:20])
    app = open_app(PAGE)
    assert not app.exception and "image 1 cannot be read" in app.error[0].value
    (folder / "images" / "0.png").write_bytes(image)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"format": 3}))
    app = open_app(PAGE)
    assert not app.exception and "update vitviz" in app.error[0].value
