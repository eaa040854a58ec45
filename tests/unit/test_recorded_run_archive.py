"""The zip of a recorded run's folder is opened, and any other is refused in one sentence."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import vitviz
import vitviz.recorded_run_archive as archive_module
from tests.files import zipped
from tests.unit.test_recorder import IMAGES, make_model
from vitviz.recorded_run import RecordedRun, RecordedRunError
from vitviz.recorded_run_archive import is_recorded_zip, unpack_recorded_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordedRun:
    monkeypatch.setattr("vitviz.recorder.FREE_S", 1e9)
    recorder = vitviz.record(make_model(), IMAGES, tmp_path / "run", weights=True)
    recorder.step(0, loss=2.0)
    recorder.step(1, loss=1.0)
    return recorder.run  # still being recorded


def zip_of(run: RecordedRun, home: str = "", **changes: bytes) -> bytes:
    """Return the zip of the run's folder below `home`; a change of `config__json` replaces config.json."""
    files = {
        path.relative_to(run.directory).as_posix(): path.read_bytes()
        for path in run.directory.rglob("*")
        if path.is_file()
    }
    files |= {name.replace("___", "/").replace("__", "."): data for name, data in changes.items()}
    junk = {f"__MACOSX/{home}._config.json": b"junk"}
    return zipped({f"{home}{name}": data for name, data in files.items()} | junk, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize("home", ["", "run/", "my runs/first/"])
def test_the_zip_of_a_folder_holds_the_run(tmp_path: Path, run: RecordedRun, home: str) -> None:
    data = zip_of(run, home, notes__txt=b"mine", images___evil__sh=b"rm")
    assert is_recorded_zip(data)
    (tmp_path / "opened").mkdir()
    opened = unpack_recorded_run(data, tmp_path / "opened")
    assert opened.config == run.config and opened.records() == run.records()
    assert opened.steps() == [0, 1] and opened.status().state == "done"
    for name, array in vars(run.moment(1)).items():
        np.testing.assert_array_equal(getattr(opened.moment(1), name), array)
    for number in range(3):
        np.testing.assert_array_equal(opened.image(number), run.image(number))
    assert vitviz.load(opened.weights_path(1)).config == run.config.model
    names = {path.relative_to(opened.directory).as_posix() for path in opened.directory.rglob("*")}
    assert "notes.txt" not in names and "images/evil.sh" not in names


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"config__json": b'{"kind": "recorded", "format": 3}'}, "update vitviz"),
        ({"config__json": b"[" * 10_000}, "no recorded run"),
        ({"config__json": b" " * 200_000}, "the limit is"),
        ({"images___0__png": b"no image"}, "images/0.png cannot be used"),
        ({"records__jsonl": b"\n" * 3_000_000}, "records.jsonl has 3,000,000 bytes"),
    ],
)
def test_other_zips_are_refused(
    tmp_path: Path, run: RecordedRun, changes: dict[str, bytes], reason: str
) -> None:
    (tmp_path / "opened").mkdir()
    with pytest.raises(RecordedRunError, match=reason):
        unpack_recorded_run(zip_of(run, **changes), tmp_path / "opened")


def test_what_is_no_zip_and_what_is_no_recorded_run_have_a_sentence_each(tmp_path: Path) -> None:
    images = zipped({"cat/1.png": b"image"})
    assert not is_recorded_zip(b"no zip") and not is_recorded_zip(images)
    (tmp_path / "opened").mkdir()
    with pytest.raises(RecordedRunError, match=r"config\.json is missing"):
        unpack_recorded_run(images, tmp_path / "opened")


def test_too_many_patches_for_a_shared_server_are_refused(
    tmp_path: Path, run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "MOST_PAIRS", 2 * 16**2 - 1)
    (tmp_path / "opened").mkdir()
    with pytest.raises(RecordedRunError, match="512 pairs of patches"):
        unpack_recorded_run(zip_of(run), tmp_path / "opened")
