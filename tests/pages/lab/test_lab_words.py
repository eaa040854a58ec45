"""What the lab says: counts with their nouns, settings in the words of the form, other people's names as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pages.train.lab import flip_book_images, settings
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp
from vitviz.config import CNNConfig, FlatAttentionConfig, SwinConfig, TrainConfig, ViTConfig, name_fields
from vitviz.models.presets import GREY_32
from vitviz.training.position_race import positions_race
from vitviz.training.run_config import Member, RunConfig
from vitviz.training.run_directory import Run

TINY = ViTConfig(image_size=32, patch_size=32, in_chans=1, embed_dim=16, depth=1, num_heads=1)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (TINY, "ViT, 1 × 1 patch of 32 px, width 16, 1 layer of 1 head"),
        (
            replace(TINY, patch_size=8, depth=2, num_heads=4),
            "ViT, 4 × 4 patches of 8 px, width 16, 2 layers of 4 heads",
        ),
        (SwinConfig(depths=(2, 6), num_heads=(3, 6)), "Swin, windows of 4 × 4 tokens, 2–6 layers, width 48"),
        (CNNConfig(widths=(8, 16), blocks=(1, 2)), "CNN, 1–2 residual blocks of 8–16 channels"),
        (FlatAttentionConfig(), "Lecture E: 'attention' over the flat image"),
    ],
)
def test_a_model_in_words(config: ViTConfig, words: str) -> None:
    assert settings.describe_model(config) == words


def test_a_run_that_got_the_free_threads_differs_in_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = RunConfig(TINY, GREY_32, TrainConfig(dataset="digits", epochs=3, threads=0))
    run = Run.create(tmp_path, asked.on_threads(2))
    monkeypatch.setattr(settings.runs, "read_status", lambda run: replace(run.status(), state="running"))
    assert settings.describe_differences(asked, run) == " The run shown uses these settings."
    other = replace(asked, train=replace(asked.train, seed=7, threads=1))
    assert settings.describe_differences(other, run).endswith("differs from the run shown in Threads, Seed.")


def test_what_ends_one_of_several_models_early_is_reported() -> None:
    aimed = TrainConfig(dataset="digits", epochs=6, stop_accuracy=0.9)
    whole = replace(aimed, stop_accuracy=None)
    members = (Member("a", "A", TINY, whole), Member("b", "B", TINY, aimed))
    returned = settings.describe_config(RunConfig(TINY, GREY_32, whole, members=members)).replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert returned.endswith(
        "one recipe each: 6 epochs; 6 epochs, or until the validation accuracy reaches 90.0 %"
    )


@pytest.mark.parametrize(
    ("counts", "returned"),
    [
        ([[3, 0], [0, 3]], ""),
        ([[2, 1], [0, 3]], "; only mistake: a predicted as b"),
        ([[2, 1], [1, 2]], "; no mistake occurs twice"),
        ([[1, 2], [1, 2]], "; most common: a predicted as b (2 times)"),
    ],
)
def test_no_mistake_is_called_the_most_frequent_that_was_made_once(
    counts: list[list[int]], returned: str
) -> None:
    assert flip_book_images._describe_most_common_mistake(np.array(counts), ("a", "b")) == returned


def test_several_models_are_described_as_one_only_where_they_are_alike() -> None:
    members = [Member(name, name, replace(TINY, depth=depth)) for name, depth in (("a", 1), ("b", 2))]
    config = RunConfig(TINY, GREY_32, TrainConfig(dataset="digits", epochs=3), members=tuple(members))
    assert ", each: " not in settings.describe_config(config)  # the first one's layers are not the second's
    alike = replace(config, members=(members[0], replace(members[1], model=TINY)))
    assert f", each: {settings.describe_model(TINY)}" in settings.describe_config(alike)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        ({"epochs": 1 / 15}, "6.7\N{NO-BREAK SPACE}% of an epoch"),
        ({"epochs": 1.0}, "1 epoch"),
        ({"epochs": 1.75}, "1.75 epochs"),
        ({"epochs": None, "seconds": 20.0}, "20\N{NO-BREAK SPACE}s"),
        (
            {"stop_accuracy": 0.97, "patience": 1.0},
            "3 epochs, or until the validation accuracy reaches 97.0\N{NO-BREAK SPACE}%"
            " or 1 epoch without improvement",
        ),
    ],
)
def test_a_length_in_words(length: dict[str, float | None], words: str) -> None:
    config = RunConfig(TINY, GREY_32, replace(TrainConfig(dataset="digits", epochs=3), **length))  # type: ignore[arg-type]
    assert settings.describe_config(config).endswith(f", {words}")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("dataset", "mnist", "MNIST"),
        ("dataset", "digits", "Digits"),
        ("dataset", "own:AAAAAAAAAAAAAAAAAAAAAA", "your own images"),
        ("optimizer", "adamw", "AdamW"),
        ("positions", "sincos_2d_sum", "2-D summed"),
        ("model", "vit", "ViT"),
        ("distilled", True, "on"),
        ("layer_scale", None, "–"),
        ("stem", (), "–"),
        ("widths", (8, 16), "8, 16"),
        ("frozen", ("patch_embed",), "patch embedding"),
        ("epochs", 1 / 15, "0.06667"),
        ("seed", 3, "3"),
    ],
)
def test_a_setting_is_reported_in_the_words_of_the_form(name: str, value: object, words: str) -> None:
    assert settings.format_setting(name, value) == words


def test_a_teachers_path_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings.model_form, "find_teacher_key", lambda path: None)
    assert settings.format_setting("distill_from", "/srv/runs/2026-secret/snapshots/9.npz") == "deleted model"


@pytest.mark.parametrize(
    ("name", "title"),
    [("embed_dim", "Width D"), ("mlp_ratio", "MLP ratio"), ("num_heads", "Heads"), ("dataset", "Dataset")],
)
def test_a_column_keeps_its_capitals(name: str, title: str) -> None:
    assert settings.get_title(name) == title


def test_a_refusal_names_controls_and_no_fields() -> None:
    words = name_fields("depths and num_heads must have one entry per stage, received (2,) and (3, 6)")
    assert words == "Blocks per stage and Heads must have one entry per stage, received (2,) and (3, 6)"
    assert name_fields("stem must hold integers of at least 1").startswith("Stem channels must")


def test_names_of_classes_out_of_an_uploaded_race_are_text(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pages.frame import run_panel
    from vitviz.analysis import race as results

    run = Run.create(folder, positions_race("digits", epochs=1.0))
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(run_panel, "_load_classes", lambda run: ("**a**", "$b$"))
    monkeypatch.setattr(results, "describe_race", lambda racers, classes: seen.append(classes))
    app = open_app(PAGE, live_lab__run=run.id)
    assert not app.exception
    assert seen[-1] == (r"\*\*a\*\*", r"\$b\$")


def test_a_table_of_runs_says_settings_as_the_form_does(
    open_app: OpenApp, executor: FakeExecutor, folder: Path
) -> None:
    one = Run.create(folder, RunConfig(TINY, GREY_32, TrainConfig(dataset="digits", epochs=1), "one"))
    wide = replace(TINY, embed_dim=32, mlp_ratio=2.0)
    two = Run.create(folder, RunConfig(wide, GREY_32, TrainConfig(dataset="mnist", epochs=1), "two"))
    app = open_app(PAGE, live_lab__run=one.id)
    app.session_state["_visit"].runs = (one.id, two.id)
    app.run()
    table = app.main.dataframe[0].value
    assert table["dataset"].tolist() == ["Digits", "MNIST"]
    assert table["State"].tolist() == ["new", "new"]
    returned = "\n".join(caption.value for caption in app.main.caption)
    assert "Width D; MLP ratio; Dataset." in returned
