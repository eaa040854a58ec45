"""The lab's form: every model family, a teacher, and a visitor's own images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import session
from tests.pages.conftest import put_shipped
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, errors, start_button, until, view
from tests.robustness.test_uploaded_datasets import archive
from vitviz.config import ModelConfig, SwinConfig, TrainConfig, ViTConfig
from vitviz.data import uploaded_datasets
from vitviz.data.dataset import validation_split
from vitviz.data.dataset_zip import load_zip
from vitviz.data.datasets import load_dataset
from vitviz.models.presets import PRESETS, RGB_32
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session


def started(app: AppTest, executor: FakeExecutor) -> RunConfig:
    """What a click on start hands over."""
    assert not errors(app)
    start_button(app).click().run()
    assert not app.exception, app.exception[0].message
    config = executor.orders[-1][1]
    assert isinstance(config, RunConfig)
    return config


def choose(app: AppTest, key: str, value: str) -> AppTest:
    app.main.selectbox(key=f"live_lab.{key}").set_value(value).run()
    assert not app.exception, app.exception[0].message
    return app


@pytest.mark.parametrize(
    ("family", "values", "changed"),
    [
        ("vit", {"depth": "3", "head_input": "slice"}, {"depth": 3, "head_input": "slice", "stem": ()}),
        ("hybrid", {"stem": "8, 16,48"}, {"stem": (8, 16, 48), "patch_size": 4}),
        (
            "swin",
            {"swin_depths": "1,1", "swin_num_heads": "2,2", "swin_window_size": "8"},
            {"depths": (1, 1), "num_heads": (2, 2), "window_size": 8, "in_chans": 1, "image_size": 32},
        ),
        (
            "cnn",
            {"cnn_widths": "8,16", "cnn_blocks": "0,2", "cnn_pooled": "1"},
            {"widths": (8, 16), "blocks": (0, 2), "pooled": True},
        ),
        ("conv_attention", {"conv_attention_scaled": "0"}, {"scaled": False, "image_size": 32}),
        ("flat_attention", {"flat_attention_widths": "64,32"}, {"widths": (64, 32)}),
    ],
)
def test_every_family_is_a_choice_with_its_own_options(
    open_app: OpenApp, executor: FakeExecutor, family: str, values: dict[str, str], changed: dict[str, Any]
) -> None:
    app = open_app(PAGE, live_lab__family=family, **{f"live_lab__{key}": v for key, v in values.items()})
    model = started(app, executor).model
    assert {name: getattr(model, name) for name in changed} == changed
    kept = {key for key in app.query_params if key.startswith("live_lab.")}
    defaults = {"live_lab.family"} if family != "vit" else set()
    assert defaults <= kept <= {f"live_lab.{key}" for key in ("recipe", "family", "run", *values)}


def test_a_family_is_switched_there_and_back(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = choose(open_app(PAGE, live_lab__depth="5"), "family", "swin")
    assert "Swin, windows of 4 × 4 tokens" in "".join(caption.value for caption in app.main.caption)
    assert isinstance(started(app, executor).model, SwinConfig)
    model = started(choose(app, "family", "vit"), executor).model
    assert isinstance(model, ViTConfig) and model.depth == 5


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"family": "cnn", "cnn_widths": "16, wide"}, "channels per stage must be integers"),
        ({"family": "cnn", "cnn_widths": "16,32"}, "one entry per stage"),
        ({"family": "cnn", "cnn_blocks": "1,0,1"}, "Blocks per stage must be at least 1"),
        ({"family": "swin", "swin_num_heads": "3,6"}, "Heads 3 does not divide stage 0's width 32"),
        ({"family": "swin", "swin_window_size": "0"}, "Window must be an integer of at least 1"),
        ({"family": "hybrid", "stem": ""}, "at least one convolution"),
        ({"family": "hybrid", "patch_size": "5"}, "does not divide"),
        ({"family": "deit"}, "a DeiT needs a teacher"),
        ({"family": "flat_attention", "flat_attention_widths": "64"}, "two hidden widths"),
        ({"validation_fraction": "0.9"}, "Validation fraction must lie in (0, 0.5]"),
        ({"optimizer": "sgd", "momentum": "1.5"}, "Momentum must lie in [0, 1)"),
        ({"snapshots": "120", "embed_dim": "512", "depth": "4"}, "the limit is 512 MB"),
        ({"embed_dim": "512", "depth": "16"}, "the limit is 15,000,000"),
        ({"length": "9999", "batch_size": "1"}, "the limit is 2,000,000"),
        ({"num_heads": "0"}, "Heads must be an integer of at least 1, received 0"),
        ({"num_heads": "5"}, "Heads 5 does not divide Width D 48"),
        ({"patch_size": "7"}, "Patch size 7 does not divide Image size 32"),
        ({"batch_size": "4000"}, "Batch size 4000 is larger than the 1,294 training images"),
        ({"learning_rate": "1e9"}, "Learning rate must lie in (0, 10]"),
        ({"length": "0"}, "Epochs must lie in (0, 10000], received 0.0"),
        ({"train": "experiment", "race_epochs": "0"}, "Epochs must lie in (0, 10000], received 0.0"),
        ({"mlp_ratio": "1e30"}, "MLP ratio"),
        ({"family": "hybrid", "stem": "16, 999999999999999999"}, "widths of at most 8192"),
        ({"positions": "sincos_1d", "embed_dim": "33", "num_heads": "3"}, "needs an even Width D"),
    ],
)
def test_settings_that_are_impossible_or_too_large_are_refused(
    open_app: OpenApp, executor: FakeExecutor, values: dict[str, str], reason: str
) -> None:
    app = open_app(PAGE, **{f"live_lab__{key}": value for key, value in values.items()})
    assert reason in errors(app)
    assert start_button(app).proto.disabled and executor.orders == []


def test_an_unknown_family_in_a_link_is_the_recipes(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, live_lab__recipe="digits_cnn", live_lab__family="perceptron")
    assert app.main.selectbox(key="live_lab.family").value == "cnn"
    model: ModelConfig = started(app, executor).model
    assert model == PRESETS["cnn_digits"].config


def test_a_deit_is_taught_by_a_model_of_the_same_images(
    open_app: OpenApp, executor: FakeExecutor, no_shipped_checkpoints: Path
) -> None:
    put_shipped(no_shipped_checkpoints, "digits_cnn", "digits_vit", "shapes_vit")
    app = open_app(PAGE, live_lab__family="deit", live_lab__distillation="soft")
    teacher = app.main.selectbox(key="live_lab.teacher")
    assert teacher.options == ["Digits CNN", "Digits ViT, patch 4"]  # not the one for shapes
    config = started(choose(app, "teacher", "checkpoint:digits_cnn"), executor)
    assert isinstance(config.model, ViTConfig) and config.model.distilled
    assert config.train.distill_from == str(no_shipped_checkpoints / "digits_cnn.safetensors")
    assert config.train.distillation == "soft"
    readout = app.main.selectbox(key="live_lab.readout")
    assert readout.disabled and "class token" in readout.help
    assert started(choose(app, "family", "vit"), executor).train.distill_from is None


def test_without_flips_none_alternate(open_app: OpenApp, executor: FakeExecutor) -> None:
    for flip in (True, False):
        app = open_app(PAGE, live_lab__recipe="cifar10_cnn_record", live_lab__flip=str(int(flip)))
        train = started(app, executor).train
        assert (train.flip, train.alternate_flip) == (flip, flip)


def test_what_has_no_meaning_is_disabled_with_its_reason(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, live_lab__schedule="constant")
    for key, reason in (("warmup_fraction", "does not warm up"), ("momentum", "only SGD uses this setting")):
        control = app.main.number_input(key=f"live_lab.{key}")
        assert control.disabled and reason in control.help
    assert not choose(app, "optimizer", "sgd").main.number_input(key="live_lab.momentum").disabled
    learns = choose(app, "family", "cnn").main.toggle(key="live_lab.embedding_learns")
    assert learns.disabled and "no patch embedding" in learns.help


def test_the_lecture_a_slip_is_a_switch(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE, live_lab__recipe="recipe_a", live_lab__dataset="shapes", live_lab__batch_size="64")
    assert started(app, executor).train.frozen == ("patch_embed",)
    app.main.toggle(key="live_lab.embedding_learns").set_value(True).run()
    assert started(app, executor).train.frozen == ()


def upload(app: AppTest, data: bytes, name: str = "pets.zip") -> AppTest:
    app.main.file_uploader[0].upload(name, data, "application/zip").run()
    assert not app.exception, app.exception[0].message
    return app


def test_a_zip_of_images_becomes_the_data_set(
    open_app: OpenApp, executor: FakeExecutor, folder: Path
) -> None:
    app = upload(open_app(PAGE), archive())
    dataset = app.main.selectbox(key="live_lab.dataset")
    assert uploaded_datasets.is_uploaded(dataset.value) and dataset.options[-1].endswith(": pets")
    table = next(frame.value for frame in app.main.dataframe if "Class" in frame.value)
    assert table.to_dict("list") == {
        "Class": ["cool", "warm"],
        "Training images": [10, 10],
        "Test images": [2, 2],
    }
    words = "\n".join(caption.value for caption in app.main.caption)
    assert "1 file was skipped" in words and "notes" in words
    config = started(app, executor)
    assert config.train.dataset == dataset.value and config.train.batch_size == 4
    assert (config.model.num_classes, config.model.in_chans, config.preparation.in_chans) == (2, 3, 3)

    link = {key.replace(".", "__"): value for key, value in form_of(app).items()}
    other = open_app(PAGE, **link)  # whoever has the link sees the set, and nobody else
    assert other.main.selectbox(key="live_lab.dataset").value == dataset.value
    stranger = open_app(PAGE)
    assert stranger.main.selectbox(key="live_lab.dataset").options[-1].startswith("CIFAR-100")

    app.main.button(key="live_lab._own_remove").click().run()
    assert app.main.selectbox(key="live_lab.dataset").value == "digits"
    assert not list((folder / "sets").iterdir())
    late = open_app(PAGE, **link)
    assert "no longer on the server" in late.main.warning[0].value
    assert late.main.selectbox(key="live_lab.dataset").value == "digits"


def form_of(app: AppTest) -> dict[str, str]:
    return {
        key: value[0] if isinstance(value, list) else value
        for key, value in app.query_params.items()
        if key in ("live_lab.dataset", "live_lab.batch_size")
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not a zip", "not a zip archive"),
        (archive(12, only=(1, 2, 3)), "usable classes: 'only'; skipped files: 1"),
        (archive(1), "usable classes: none"),
    ],
)
def test_a_zip_that_is_no_set_says_why(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, data: bytes, reason: str
) -> None:
    app = upload(open_app(PAGE), data)
    assert reason in errors(app)
    assert app.main.selectbox(key="live_lab.dataset").value == "digits"
    assert not list(folder.glob("sets/*"))
    app.main.selectbox(key="live_lab.recipe").set_value("shapes_vit").run()
    assert not app.exception


def test_a_reading_that_is_broken_off_keeps_nothing_and_says_so(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click on Cancel reruns the script, and Streamlit ends the old run where it next draws: at the progress bar."""
    from streamlit.runtime.scriptrunner import RerunException
    from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

    from pages.train.lab import dataset_upload

    app, drawn = open_app(PAGE), []

    def progress(value: float, text: str | None = None) -> object:
        drawn.append(text)
        if len(drawn) == 2:
            raise RerunException(RerunData())
        return type("Bar", (), {"progress": staticmethod(progress)})

    with monkeypatch.context() as patch:
        patch.setattr(dataset_upload.st, "progress", progress)
        app.main.file_uploader[0].upload("pets.zip", archive(), "application/zip").run()
    assert len(drawn) == 2 and "of 25 images" in drawn[1]
    app.run()
    assert dataset_upload.CANCELLED in errors(app)
    assert not list(folder.glob("sets/*"))


def test_a_session_keeps_a_few_sets(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE)
    for index in range(4):
        upload(app, archive(3), f"set {index}.zip")
    assert "You have 3 datasets already" in errors(app)


def test_a_larger_image_makes_a_larger_model(open_app: OpenApp, executor: FakeExecutor) -> None:
    app = open_app(PAGE)
    app.main.button_group(key="live_lab._own_size").set_value(48).run()
    config = started(upload(app, archive()), executor)
    assert (config.model.image_size, config.preparation.image_size) == (48, 48)


def test_a_removed_set_leaves_its_runs_and_takes_its_images(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "secrets", type("Named", (), {"token_urlsafe": lambda count: "r" * 22}))
    maker = session.UserSession("r" * 22).owner
    note = uploaded_datasets.store_images(load_zip(archive(), image_size=16), "pets", folder, maker)
    model = ViTConfig(image_size=16, patch_size=8, embed_dim=16, depth=1, num_heads=2, num_classes=2)
    train = TrainConfig(dataset=note.name, epochs=1, batch_size=8, seed=3, snapshots=2)
    run = Run.create(folder, RunConfig(model, replace(RGB_32, image_size=16), train))
    assert Session(run, device="cpu").perform().state == "done"

    app = open_app(PAGE, live_lab__run=run.id, live_lab__dataset=note.name)
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    header, arrays = view(app, "life")
    assert {"confusion", "worst", "distance"} <= set(arrays)
    from pages.stores import runs

    choice = runs._build_choice(run)
    assert choice is not None and (choice.trained_on, note.name in choice.note) == (
        "your own images",
        False,
    )
    # The validation split does not follow the run's seed: what is judged was never trained on.
    _, held_out = validation_split(load_dataset(note.name, runs_folder=folder), 0.1, 0)
    assert arrays["worst"].shape[1] * arrays["worst"].shape[2] == len(held_out)
    images = load_dataset(note.name, runs_folder=folder).train_images[held_out]
    shown = arrays["worst"][0].reshape(-1, 16, 16, 3)
    assert all(any(np.array_equal(one, other) for other in images) for one in shown)

    assert "from the server" in app.main.button(key="live_lab._own_remove").help
    app.main.button(key="live_lab._own_remove").click().run()
    assert not app.exception
    app.run()
    until(app, lambda: view(app, "life")[0]["steps"] == run.snapshots())
    header, arrays = view(app, "life")
    reasons = {image["name"]: image.get("reason", "") for image in header["pictures"]}
    assert "worst" not in arrays and "not on this server" in reasons["worst"]
    assert {"attention", "similarity", "filters"} <= set(arrays)


def test_who_did_not_bring_a_set_can_only_forget_it(
    open_app: OpenApp, executor: FakeExecutor, folder: Path
) -> None:
    note = uploaded_datasets.store_images(load_zip(archive(), image_size=16), "pets", folder, "another")
    app = open_app(PAGE, live_lab__dataset=note.name)
    button = app.main.button(key="live_lab._own_remove")
    assert button.label == "Remove from my list" and "Only the session that uploaded them" in button.help
    button.click().run()
    assert not app.exception and uploaded_datasets.read_note(note.name, folder) is not None
