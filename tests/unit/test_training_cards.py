"""The shipped checkpoints are what their cards say, and the shell's commands make such files."""

from __future__ import annotations

from pathlib import Path

import pytest

from vitviz import evaluate, train
from vitviz.checkpoints import load_checkpoint, read_header
from vitviz.models.zoo import create_model
from vitviz.training.assembling import measure
from vitviz.training.cards import cards
from vitviz.training.presets import TRAINING_PRESETS

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
FILES = sorted(CHECKPOINTS.glob("*.safetensors"))


@pytest.mark.parametrize("name", ["digits_vit", "shapes_vit", "shapes_vit_nopos"])
def test_a_card_states_what_its_file_reaches(name: str) -> None:
    checkpoint = load_checkpoint(CHECKPOINTS / f"{name}.safetensors")
    measured = measure(checkpoint, checkpoint.card["dataset"])
    assert measured.images == checkpoint.card["test_images"]
    assert measured.accuracy == pytest.approx(checkpoint.card["test_accuracy"], abs=1.5 / measured.images)


def test_the_page_of_cards_is_written_from_the_headers() -> None:
    assert (CHECKPOINTS / "README.md").read_text() == cards(CHECKPOINTS)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_is_whole_small_and_complete(file: Path) -> None:
    header, size = read_header(file), file.stat().st_size
    assert size < 20 * 2**20 and header.steps[0] == 0 and len(header.steps) >= 5
    assert sum(map(sum, header.card["confusion"])) == header.card["test_images"]
    hits = sum(row[index] for index, row in enumerate(header.card["confusion"]))
    assert hits / header.card["test_images"] == pytest.approx(header.card["test_accuracy"])
    assert list(load_checkpoint(file, every_step=True).snapshots) == list(header.steps)


@pytest.mark.parametrize("name", sorted(TRAINING_PRESETS))
def test_every_preset_fits_together(name: str) -> None:
    preset = TRAINING_PRESETS[name]
    model = create_model(preset.model)
    assert preset.preparation.image_size == preset.model.image_size
    assert preset.preparation.in_chans == preset.model.in_chans
    for prefix in preset.train.frozen:
        assert any(parameter.startswith(prefix) for parameter, _ in model.named_parameters())


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
    assert "its card says" in capsys.readouterr().out
