"""The command `vitviz`: files, folders, numbers as JSON, errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vitviz
from vitviz import cli
from vitviz.cli import main


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ("b.png", "a.png"):
        Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(folder / name)
    (folder / "notes.txt").write_text("no image")
    return folder


def test_attention_of_an_image_is_drawn(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "maps.png"
    words = ["attention", str(photos / "a.png"), "--layer", "-1", "--query", "0,3", "--out", str(out)]
    assert main([*words, "--model", "cifar10_vit"]) == 0
    assert capsys.readouterr().out == f"{out}: attention of 1 image\n"
    view = vitviz.inspect("cifar10_vit", photos / "a.png")
    assert out.read_bytes() == view.save(tmp_path / "same.png", [-1], (0, 3)).read_bytes()


def test_attention_of_a_folder_is_drawn_and_told(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "maps"
    assert main(["attention", str(photos), "--out", str(out), "--model", "cifar10_vit", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert [Path(line["file"]) for line in reported] == [out / "a.png", out / "b.png"]
    view = vitviz.inspect("cifar10_vit", photos / "b.png")
    assert (reported[1]["prediction"], reported[1]["probability"]) == view.prediction[0]
    assert all((out / name).is_file() for name in ("a.png", "b.png"))


def test_the_weights_of_a_folder_go_to_disk_as_the_batch_writes_them(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "weights"
    assert main(["attention", str(photos), "--arrays", "--out", str(out), "--model", "cifar10_vit"]) == 0
    stored = vitviz.StoredAttention(out)
    assert stored.images == ["a.png", "b.png"]
    assert capsys.readouterr().out == f"{out}: attention of {' × '.join(map(str, stored.shape))}\n"
    attention = vitviz.inspect("cifar10_vit", photos / "b.png").attention()
    assert np.abs(stored[1] - attention).max() < 0.008


def test_settings_of_the_command_line_are_those_of_load(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {
        "num_heads": 2,
        "img_size": 64,
        "mean": (0.1, 0.2, 0.3),
        "std": (0.5, 0.5, 0.5),
        "crop_pct": 0.5,
        "interpolation": "nearest",
        "global_pool": "avg",
        "act_layer": "relu",
    }
    words = []
    for name, value in given.items():
        values = value if isinstance(value, tuple) else (value,)
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    assert main(["distance", str(photos / "a.png"), "--json", "--model", "cifar10_vit", *words]) == 0
    out = json.loads(capsys.readouterr().out)
    view = vitviz.inspect(vitviz.load("cifar10_vit", **given), photos / "a.png")
    assert np.array(out["distance"]) == pytest.approx(view.distances()) and len(out["distance"][0]) == 2
    assert out["layers_and_heads_count_from"] == 0
    assert main(["distance", str(photos / "a.png"), "--rope-type", "none"]) == 1
    assert "states rope_type" in capsys.readouterr().err


def test_distances_are_the_mean_over_images(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["distance", str(photos), "--model", "cifar10_vit", "--json"]) == 0
    reported = json.loads(capsys.readouterr().out)
    model = vitviz.load("cifar10_vit")
    expected = np.mean(
        [vitviz.inspect(model, photos / name).distances() for name in ("a.png", "b.png")], axis=0
    )
    assert reported["images"] == 2 and np.array(reported["distance"]) == pytest.approx(expected)
    assert main(["distance", str(photos), "--model", "cifar10_swin"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and "     -" in lines[1] and "     -" not in lines[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["attention", "missing.png"], "vitviz: there is no file or folder missing.png"),
        (["attention", "notes.txt"], "vitviz: notes.txt: This file is not an image in a supported format."),
        (["attention", "a.png", "--layer", "9"], "vitviz: layer must lie in -4..3, received 9"),
        (["attention", "a.png", "--query", "1,x"], "vitviz: expected --query ROW,COLUMN"),
        (["attention", "a.png", "--arrays", "--layer", "0"], "vitviz: --arrays writes every layer"),
        (
            ["attention", "a.png", "--model", "cifar10_cnn"],
            "vitviz: This model has no attention between patches",
        ),
        (["distance", "a.png", "--model", "nothing"], "vitviz: 'nothing' is no file, folder"),
        (["export", "out", "--model", "cifar10_cnn"], "vitviz: only a ViT, DeiT or Swin"),
        (
            ["evaluate", "missing.safetensors"],
            "vitviz: missing.safetensors: the checkpoint cannot be read",
        ),
        (["evaluate", "notes.txt"], "vitviz: notes.txt: "),
        (["fine-tune", "vit_huge", "--out", "a.safetensors"], "vit_huge: 'vit_huge' cannot be loaded"),
    ],
)
def test_an_error_is_one_line_and_a_code(
    photos: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(photos)
    assert main(words) == 1
    reported = capsys.readouterr()
    assert reported.out == "" and reported.err.startswith(message) and reported.err.count("\n") == 1


def test_wrong_arguments_end_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["attend"], ["attention"], ["train", "nothing"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert "python -m vitviz.train" in capsys.readouterr().err


def test_other_commands_are_forwarded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch"]) == 0
    assert "deit_tiny_patch16_224" in capsys.readouterr().out


def test_a_broken_image_of_a_folder_is_named_and_skipped(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (photos / "c.png").write_bytes((photos / "a.png").read_bytes()[:90])
    assert main(["distance", str(photos), "--model", "cifar10_vit", "--json"]) == 0
    reported = capsys.readouterr()
    assert json.loads(reported.out)["images"] == 2
    assert reported.err.startswith("vitviz: skipped c.png: This PNG is truncated")


def test_every_image_of_a_folder_has_its_own_file(
    photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.open(photos / "a.png").save(photos / "a.jpg")
    monkeypatch.chdir(photos.parent)
    assert main(["attention", "photos", "--layer", "0"]) == 0
    assert sorted(file.name for file in Path("attention").iterdir()) == [
        "a.jpg.png",
        "a.png.png",
        "b.png.png",
    ]
    assert main(["attention", "photos/a.png", "--layer", "0"]) == 0 and Path("attention.png").is_file()
    assert main(["attention", "photos", "--out", "maps.png"]) == 1 and not Path("maps.png").exists()
    assert main(["attention", "photos/a.png", "--layer", "0", "--out", "new/maps.png"]) == 0
    assert Path("new/maps.png").is_file() and "Errno" not in capsys.readouterr().err


def test_a_query_is_a_name_an_index_or_a_cell() -> None:
    queries = [cli._parse_query(text) for text in (None, "cls", "5", "0,3")]
    assert queries == [None, "cls", 5, (0, 3)]
