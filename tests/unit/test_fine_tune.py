"""`python -m vitviz.fine_tune`: published weights, here random ones in the hub's own format, on sixty images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save

from tests.unit.weights_server import Server, serving
from vitviz import fine_tune as command
from vitviz.checkpoint_header import read_header
from vitviz.checkpoints import open_model
from vitviz.config import ViTConfig
from vitviz.data.cifar10_few import few_dataset
from vitviz.data.dataset import Dataset
from vitviz.data.image_preprocessing import prepare_batch
from vitviz.models.pretrained_list import PRETRAINED, find
from vitviz.models.zoo import create_model

SMALL = ViTConfig(image_size=32, patch_size=8, num_classes=1000, embed_dim=24, depth=2, num_heads=3)
LESSON_S = "vit_small_patch16_224"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A hub on this machine, and CIFAR-10's sixty images: forty to learn from, twenty to be tested on."""
    few = few_dataset()
    images, labels = few.test_images[:60], few.labels_of("test")[:60]
    sixty = Dataset("cifar10", images[:40], labels[:40], images[40:], labels[40:], few.classes)
    monkeypatch.setattr(command, "load_dataset", lambda name: sixty)
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))  # another test's file has the same name
        monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
        yield running


def publish(server: Server, monkeypatch: pytest.MonkeyPatch, config: ViTConfig) -> str:
    """Random weights of the lesson's model's name; returns that name."""
    entry = replace(find(LESSON_S), config=config, opens_at_px=config.image_size)
    monkeypatch.setitem(PRETRAINED, entry.name, entry)
    server.files[f"/timm/{entry.name}/resolve/main/model.safetensors"] = save(
        create_model(config, seed=1).state_dict()
    )
    return entry.name


def test_sixty_images_are_learned_from_and_the_file_opens_as_it_was_counted(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = publish(server, monkeypatch, SMALL), tmp_path / "made.safetensors"
    assert command.main([name, "--epochs", "2", "--out", str(out)]) == 0
    returned = capsys.readouterr().out
    assert "epoch 2 of 2: loss" in returned and "of 20 test images" in returned
    header, model = read_header(out), open_model(out)
    assert header.steps == (4,) and header.classes == few_dataset().classes  # two batches an epoch
    assert header.train is not None and (header.train.batch_size, header.train.weight_decay) == (32, 0.01)
    assert (model.trained_on, model.began_with) == ("cifar10", find(LESSON_S).title)
    few = few_dataset()
    inputs = torch.as_tensor(prepare_batch(few.test_images[40:60], model.preparation))
    with torch.no_grad():
        guesses = model.model(inputs).argmax(dim=1).numpy()
    assert header.card["test_accuracy"] == np.mean(guesses == few.labels_of("test")[40:60])


@pytest.mark.slow
def test_the_lesson_s_own_model_is_trained_at_its_own_resolution(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """22 million parameters at 224 px: twenty images, one update."""
    config = find(LESSON_S).config
    assert isinstance(config, ViTConfig)
    out = tmp_path / "made.safetensors"
    name = publish(server, monkeypatch, config)
    assert command.main([name, "--epochs", "1", "--pictures", "20", "--out", str(out)]) == 0
    header = read_header(out)
    assert header.config == replace(config, num_classes=10) and header.preparation.image_size == 224
    assert (header.card["pictures"], header.steps) == (20, (1,))


def test_what_does_not_fit_is_reported_in_a_line(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = ["--out", str(tmp_path / "made.safetensors")]
    assert command.main(["vit_enormous", *out]) == 1
    assert "vit_enormous: " in capsys.readouterr().err
    name = publish(server, monkeypatch, SMALL)
    grey = np.zeros((4, 8, 8, 1), np.uint8)
    label = np.arange(4) % 2
    monkeypatch.setattr(
        command, "load_dataset", lambda name: Dataset("grey", grey, label, grey, label, ("a", "b"))
    )
    assert command.main([name, *out]) == 1
    assert "3 channels, received grey with 1" in capsys.readouterr().err
    monkeypatch.setattr(command, "CHECKPOINT_BYTES", 2**14)
    colour = np.zeros((4, 8, 8, 3), np.uint8)
    monkeypatch.setattr(
        command, "load_dataset", lambda name: Dataset("colour", colour, label, colour, label, ("a", "b"))
    )
    assert command.main([name, *out]) == 1
    assert "more than the limit" in capsys.readouterr().err, "said before it trains for days"
    assert not list(tmp_path.glob("*.safetensors"))
