"""A visitor's own set on disk: found by its name alone, trained on from another place, gone when it should be."""

from __future__ import annotations

import io
import os
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.files import class_images, zipped
from vitviz import upload_limits
from vitviz.config import TrainConfig, ViTConfig
from vitviz.data import uploaded_datasets
from vitviz.data.dataset import DatasetError
from vitviz.data.dataset_zip import load_zip
from vitviz.data.datasets import load_dataset
from vitviz.models.presets import RGB_32
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run
from vitviz.training.run_trainer import Session

COLOURS = {"warm": (200, 90, 20), "cool": (20, 90, 200)}


def archive(count: int = 12, **colours: tuple[int, int, int]) -> bytes:
    """Return a zip of images of one colour per class, and of a file that is none."""
    return zipped(class_images(colours or COLOURS, count) | {"warm/notes.txt": b"no picture"})


@pytest.fixture
def note(tmp_path: Path) -> uploaded_datasets.UploadedNote:
    return uploaded_datasets.store_images(load_zip(archive(), image_size=16), "pets", tmp_path)


def test_what_is_kept_is_found_by_its_name(note: uploaded_datasets.UploadedNote, tmp_path: Path) -> None:
    assert uploaded_datasets.read_note(note.name, tmp_path) == note
    assert (note.title, note.image_size, note.classes) == ("pets", 16, ("cool", "warm"))
    assert [a + b for a, b in zip(note.train_counts, note.test_counts, strict=True)] == [12, 12]
    assert note.left_out == 1 and note.reasons[0].startswith("warm/notes.txt: ")
    data = load_dataset(note.name, runs_folder=tmp_path)
    assert data.picture_shape == (16, 16, 3) and data.classes == note.classes


@pytest.mark.parametrize(
    "name",
    [
        "own:",
        "own:../../etc/passwd",
        "own:" + "A" * 22,
        "own:" + "A" * 21 + "/",
        "own:" + "A" * 22 + "\n",
        "OWN:x",
    ],
)
def test_a_guessed_or_hostile_name_finds_nothing(
    note: uploaded_datasets.UploadedNote, tmp_path: Path, name: str
) -> None:
    assert uploaded_datasets.read_note(name, tmp_path) is None
    with pytest.raises(DatasetError):
        load_dataset(name, runs_folder=tmp_path)
    uploaded_datasets.touch(name, tmp_path)
    uploaded_datasets.remove(name, tmp_path)
    assert uploaded_datasets.read_note(note.name, tmp_path) == note


def test_names_do_not_repeat(tmp_path: Path) -> None:
    images = load_zip(archive(3), image_size=8)
    names = {uploaded_datasets.store_images(images, "pets", tmp_path).name for _ in range(5)}
    assert len(names) == 5 and all(uploaded_datasets.is_uploaded(name) for name in names)


def test_a_removed_set_is_gone_at_once(note: uploaded_datasets.UploadedNote, tmp_path: Path) -> None:
    load_dataset(note.name, runs_folder=tmp_path)
    uploaded_datasets.remove(note.name, tmp_path)
    assert list((tmp_path / "sets").iterdir()) == []
    with pytest.raises(DatasetError, match="expired on the server"):
        load_dataset(note.name, runs_folder=tmp_path)


def test_a_set_that_nobody_uses_is_swept_and_one_in_use_stays(
    note: uploaded_datasets.UploadedNote, tmp_path: Path
) -> None:
    other = uploaded_datasets.store_images(load_zip(archive(3), image_size=8), "used", tmp_path)
    long_ago = time.time() - uploaded_datasets.KEEP_S - 60
    for path in (tmp_path / "sets").iterdir():
        os.utime(path, (long_ago, long_ago))
    uploaded_datasets.touch(other.name, tmp_path)
    uploaded_datasets.sweep(tmp_path)
    assert uploaded_datasets.read_note(note.name, tmp_path) is None
    assert uploaded_datasets.read_note(other.name, tmp_path) == other


def test_what_a_write_left_is_swept_and_files_that_vanish_disturb_nobody(
    note: uploaded_datasets.UploadedNote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = tmp_path / "sets" / ".half-written.npz"
    torn.write_bytes(b"half")
    uploaded_datasets.sweep(tmp_path)
    assert torn.exists()  # it may be under way
    long_ago = time.time() - uploaded_datasets.KEEP_S - 60
    os.utime(torn, (long_ago, long_ago))
    listed = list((tmp_path / "sets").glob("*.npz"))
    gone = tmp_path / "sets" / ("A" * 22 + ".npz")
    monkeypatch.setattr(
        Path, "glob", lambda *_: iter([*listed, gone])
    )  # removed by another session meanwhile
    uploaded_datasets.sweep(tmp_path)
    assert not torn.exists() and uploaded_datasets.read_note(note.name, tmp_path) == note
    assert uploaded_datasets.is_uploaded(
        uploaded_datasets.store_images(load_zip(archive(3), image_size=8), "more", tmp_path).name
    )


@pytest.mark.parametrize("name", [".", "./", "/", ""])
def test_a_zip_with_a_nameless_file_is_read_without_it(name: str) -> None:
    file = io.BytesIO(archive())
    with zipfile.ZipFile(file, "a") as zipped:
        zipped.writestr(zipfile.ZipInfo("placeholder"), b"no picture")
        zipped.filelist[-1].filename = name
    assert len(load_zip(file.getvalue(), image_size=8).dataset.classes) == 2


def test_a_full_store_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploaded_datasets, "DATASETS_BYTES", 1000)
    with pytest.raises(DatasetError, match="no room"):
        uploaded_datasets.store_images(load_zip(archive()), "pets", tmp_path)
    assert not list(tmp_path.rglob("*.npz"))


def test_a_damaged_set_says_what_to_do(note: uploaded_datasets.UploadedNote, tmp_path: Path) -> None:
    (file,) = (tmp_path / "sets").glob("*.npz")
    file.write_bytes(b"no arrays")
    with pytest.raises(DatasetError, match="upload them again"):
        load_dataset(note.name, runs_folder=tmp_path)
    file.with_suffix(".json").write_text('{"name": 3}')
    assert uploaded_datasets.read_note(note.name, tmp_path) is None


def test_too_many_classes_and_odd_names_are_refused() -> None:
    many = {f"c{index}": (index, 0, 0) for index in range(upload_limits.DATASET_CLASSES + 1)}
    with pytest.raises(DatasetError, match=f"limit is {upload_limits.DATASET_CLASSES}"):
        load_zip(archive(1, **many))
    with pytest.raises(DatasetError, match="at most 60 characters"):
        load_zip(archive(2, **{"x" * 61: (1, 2, 3), "y": (3, 2, 1)}))


def test_a_run_trains_on_it_and_names_its_classes(
    note: uploaded_datasets.UploadedNote, tmp_path: Path
) -> None:
    model = ViTConfig(image_size=16, patch_size=8, embed_dim=16, depth=1, num_heads=2, num_classes=2)
    train = TrainConfig(
        dataset=note.name, epochs=8, batch_size=8, learning_rate=3e-3, validation_fraction=0.2, snapshots=2
    )
    run = Run.create(tmp_path, RunConfig(model, replace(RGB_32, image_size=16), train))
    status = Session(run, device="cpu").perform()
    assert (status.state, status.test_accuracy) == ("done", 1.0)
    from vitviz.checkpoints import open_model

    assert open_model(run.snapshot_path()).classes == ("cool", "warm")
    uploaded_datasets.remove(note.name, tmp_path)
    assert Session(run, device="cpu").perform().message.startswith("These images have expired")
