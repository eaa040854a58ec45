"""The shipped checkpoints are what their cards say, and the shell's commands make such files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.counted_costs import count_parameters
from vitviz import evaluate, train
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import load_checkpoint
from vitviz.config import TrainConfig, ViTConfig
from vitviz.evaluate import write_cards
from vitviz.models.pretrained_list import PRETRAINED
from vitviz.models.zoo import create_model
from vitviz.training.checkpoint_export import measure
from vitviz.training.presets import TRAINING_PRESETS

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
FILES = [path for path in sorted(CHECKPOINTS.glob("*.safetensors")) if path.stem not in PRETRAINED]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["digits_vit", "shapes_vit", "shapes_vit_nopos"])
def test_a_card_states_what_its_file_reaches(name: str) -> None:
    checkpoint = load_checkpoint(CHECKPOINTS / f"{name}.safetensors")
    measured = measure(checkpoint, checkpoint.card["dataset"])
    assert measured.images == checkpoint.card["test_images"]
    assert measured.accuracy == pytest.approx(checkpoint.card["test_accuracy"], abs=1.5 / measured.images)


def test_the_page_of_cards_is_written_from_the_headers() -> None:
    assert (CHECKPOINTS / "README.md").read_text() == write_cards(CHECKPOINTS)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_is_whole_small_and_complete(file: Path) -> None:
    header, size = read_header(file), file.stat().st_size
    assert size < 9e6 and (header.config.kind == "cnn" or (header.steps[0] == 0 and len(header.steps) >= 3))
    assert sum(map(sum, header.card["confusion"])) == header.card["test_images"]
    hits = sum(row[index] for index, row in enumerate(header.card["confusion"]))
    assert hits / header.card["test_images"] == pytest.approx(header.card["test_accuracy"])
    assert header.card["parameters"] == sum(count_parameters(header.config).values())
    assert all([*load_checkpoint(file, step).snapshots] == [step] for step in header.steps)


def test_all_files_together_are_small() -> None:
    assert sum(path.stat().st_size for path in CHECKPOINTS.rglob("*") if path.is_file()) <= 80e6


@pytest.mark.parametrize("name", sorted(TRAINING_PRESETS))
def test_every_preset_fits_together(name: str) -> None:
    preset = TRAINING_PRESETS[name]
    model = create_model(preset.model)
    assert preset.preparation.image_size == preset.model.image_size
    assert preset.preparation.in_chans == preset.model.in_chans
    for prefix in preset.train.frozen:
        assert any(parameter.startswith(prefix) for parameter, _ in model.named_parameters())


def test_the_deit_and_its_twin_differ_by_the_token_and_the_teacher() -> None:
    student, twin = (TRAINING_PRESETS[name] for name in ("cifar10_deit_soft", "cifar10_vit"))
    assert isinstance(student.model, ViTConfig) and student.model.distilled
    assert twin.model == replace(student.model, distilled=False)
    untaught = {
        field: getattr(TrainConfig(), field) for field in vars(student.train) if field.startswith("distill")
    }
    assert twin.train == replace(student.train, **untaught)


def test_a_run_of_another_training_is_not_taken_for_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--out", str(tmp_path / "tiny.safetensors"), "--run", str(tmp_path / "run"), "--device", "cpu"]
    assert train.main(["digits_live", "--epochs", "0.2", *where]) == 0
    assert train.main(["digits_live", "--epochs", "0.2", *where]) == 0  # the same: it is at its end already
    capsys.readouterr()
    for words in (
        ["digits_live", "--epochs", "0.3"],
        ["digits_live", "--seed", "1", "--epochs", "0.2"],
        ["digits_cnn"],
    ):
        assert train.main([*words, *where]) == 1
        assert "holds another training (digits_live)" in capsys.readouterr().err


def test_train_and_evaluate_from_the_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "tiny.safetensors"
    words = ["digits_live", "--seed", "3", "--epochs", "0.2", "--snapshots", "3", "--device", "cpu"]
    assert train.main([*words, "--out", str(out), "--run", str(tmp_path / "run")]) == 0
    header = read_header(out)
    assert (len(header.steps), header.card["seed"]) == (3, 3)
    assert header.card["command"] == (
        "python -m vitviz.train digits_live --seed 3 --epochs 0.2 --snapshots 3 --out checkpoints/tiny.safetensors"
    )
    assert evaluate.main([str(out)]) == 0
    monkeypatch.setattr(evaluate, "CHECKPOINTS", tmp_path)
    assert evaluate.main(["--cards"]) == 0
    assert "## tiny" in (tmp_path / "README.md").read_text()
    assert "stated in its card" in capsys.readouterr().out
