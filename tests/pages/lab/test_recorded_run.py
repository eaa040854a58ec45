"""The lab plays the recorded run that the app was opened on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import vitviz
from pages.controls import session_keys
from pages.stores import recorded_runs
from pages.stores.recorded_runs import NO_WEIGHTS, OPENED
from tests.messages import first_view, unpack
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, view
from vitviz.analysis import position_similarity
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


def finish(recorder: vitviz.Recorder) -> vitviz.Recorder:
    model = recorder._module
    for step in range(3):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.05 * torch.randn_like(parameter))
        recorder.step(step, loss=2.0 - step / 2)
    recorder.close()
    return recorder


def test_pages_show_its_tables_through_training(open_app: OpenApp, recorder: vitviz.Recorder) -> None:
    run = finish(recorder).run
    moments = [run.moment(step) for step in run.steps()]
    app = open_app("pages/lenses/attention_distance/page.py", model=OPENED)
    header, arrays = unpack(first_view(app))
    assert (header["steps"], header["shown"]) == ([0, 1, 2], 2)
    means = np.stack([moment.distance_px.mean(axis=0) for moment in moments])
    np.testing.assert_allclose(arrays["values0"], means, rtol=1e-5)
    assert "over 2 images" in app.main.caption[0].value
    app = open_app("pages/lenses/positions/page.py", model=OPENED, step="1")
    header, arrays = unpack(first_view(app))
    assert header["frame"] == 1
    similarities = np.stack([position_similarity.cosine_similarity(moment.positions) for moment in moments])
    (shown,) = [array for array in arrays.values() if array.shape == similarities.shape]
    assert len(np.unique(shown[0])) > 5 and not np.array_equal(shown[0], shown[2])
    app = open_app("pages/lenses/filters/page.py", model=OPENED, filters__kind="raw")
    header, arrays = unpack(first_view(app))
    assert header["frame"] == 2 and "Mine *bold*" in json.dumps(header)
    for page, controls in (
        ("pages/lenses/positions/page.py", {"positions__view": "table", "positions__encoding": "model"}),
        ("pages/lenses/positions/page.py", {"positions__view": "resize"}),
        ("pages/lenses/filters/page.py", {"filters__view": "express"}),
    ):
        app = open_app(page, model=OPENED, **controls)
        assert NO_WEIGHTS not in app.sidebar.caption[0].value


def test_pages_that_need_weights_say_that_there_are_none(
    open_app: OpenApp, recorder: vitviz.Recorder
) -> None:
    finish(recorder)
    for page in ("attention", "layers", "block", "patches"):
        app = open_app(f"pages/lenses/{page}/page.py", model=OPENED)
        assert (
            NO_WEIGHTS in app.sidebar.caption[0].value and "is shown instead" in app.sidebar.caption[0].value
        )
    app = open_app("pages/lenses/filters/page.py", model=OPENED, filters__view="where")
    assert NO_WEIGHTS in app.sidebar.caption[0].value


def test_stored_weights_are_opened_at_every_step(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitviz.recorder.FREE_S", 1e9)
    monkeypatch.setenv("VITVIZ_RECORDED", str(tmp_path / "run"))
    model = create_model(CONFIG)
    run = finish(vitviz.record(model, IMAGES, tmp_path / "run", title="mine", weights=True)).run
    for step in (0, 2):
        app = open_app("pages/lenses/attention/page.py", model=OPENED, step=str(step))
        assert app.session_state[session_keys.SELECTION].step == step
        assert "Recorded · mine" in app.sidebar.selectbox[0].options
        badges = [part.proto.body for part in app.sidebar.get("badge")]
        assert not any("random" in badge for badge in badges)
    run.weights_path(2).write_bytes(run.weights_path(1).read_bytes())  # of another step
    app = open_app("pages/lenses/attention/page.py", model=OPENED)
    assert not app.exception


def bring(app: AppTest, folder: Path) -> AppTest:
    archive = Path(shutil.make_archive(str(folder), "zip", folder.parent, folder.name))
    (uploader,) = [one for one in app.get("file_uploader") if one.label == "Zip of a downloaded run"]
    uploader.upload("run.zip", archive.read_bytes(), "application/zip")
    return app.run()


def test_a_zip_of_its_folder_is_opened_by_its_user_alone(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(recorder)
    monkeypatch.delenv("VITVIZ_RECORDED")
    app = bring(open_app(PAGE), recorder.run.directory)
    assert not app.exception and not app.warning and not app.error
    assert view(app, "life")[0]["steps"] == [0, 1, 2]
    assert any("Uploaded 20" in caption.value for caption in app.main.caption)
    key = next(iter(recorded_runs.STORE.entries))
    other = open_app(PAGE)
    assert not [part for part in other.main.markdown if "Mine" in part.value]
    linked = open_app("pages/lenses/positions/page.py", model=f"recorded:{key}")  # whoever has its link
    assert "Recorded · Mine *bold*" in linked.sidebar.selectbox[0].options
    recorded_runs.STORE.remove(key)
    expired = open_app("pages/lenses/positions/page.py", model=f"recorded:{key}")
    assert "upload it again" in expired.sidebar.warning[0].value


def test_a_damaged_zip_is_refused_in_one_sentence(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(recorder)
    monkeypatch.delenv("VITVIZ_RECORDED")
    folder = recorder.run.directory
    (folder / "images" / "1.png").write_bytes(b"<script>")
    app = bring(open_app(PAGE), folder)
    assert not app.exception
    assert "could not be imported: images/1.png cannot be used" in app.main.warning[0].value.replace("\\", "")


@pytest.mark.slow
def test_a_folder_that_is_copied_file_by_file_never_ends_in_an_error(
    open_app: OpenApp, executor: FakeExecutor, recorder: vitviz.Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = finish(recorder).run.directory
    target = source.parent / "copy"
    files = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    monkeypatch.setenv("VITVIZ_RECORDED", str(target))
    for seed in range(3):
        shutil.rmtree(target, ignore_errors=True)
        app = open_app(PAGE)
        assert "no recorded run" in app.error[0].value
        for place in np.random.default_rng(seed).permutation(len(files)):
            copied, data = target / files[place], (source / files[place]).read_bytes()
            copied.parent.mkdir(parents=True, exist_ok=True)
            for part in (data[: len(data) // 2], data):
                copied.write_bytes(part)
                app.run()
                assert not app.exception, (seed, files[place])
        assert not app.error and view(app, "life")[0]["steps"] == [0, 1, 2]
        assert view(app, "life")[0]["plays"]  # and so nothing is polled any more
