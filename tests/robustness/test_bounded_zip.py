"""Archives that lie about themselves: what they may cost is bounded, whichever way they come in."""

from __future__ import annotations

import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.robustness.fuzz.attacks import of_zips
from tests.robustness.zip_traps import METHODS, Entry, archive, packed
from vitviz.data.bounded_zip import BoundedZip, EntryError, ZipError, ZipLimits
from vitviz.data.dataset import DatasetError
from vitviz.data.dataset_zip import load_zip
from vitviz.models.formats import open_model
from vitviz.models.formats.uploaded_weights import write_upload
from vitviz.models.pretrained_list import PretrainedError
from vitviz.training.run_archive import import_run
from vitviz.training.run_directory import RunError

LIMITS = ZipLimits(entries=100, unpacked_bytes=2**20)
LARGE = 48 * 2**20  # what a file of some 40 bytes to 48 kB unpacks to


def peak_bytes(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_what_zipfile_writes_is_read(tmp_path: Path) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as file:
            file.writestr("folder/", b"")
            file.writestr("folder/a", b"abc" * 1000)
        opened = BoundedZip((tmp_path / "a.zip").read_bytes(), LIMITS)
        assert [info.filename for info in opened.files] == ["folder/a"]
        assert opened.read(opened.files[0], 10_000) == b"abc" * 1000
        assert opened.read(opened.files[0], 4) == b"abca"


@pytest.mark.parametrize("method", METHODS)
def test_no_read_costs_more_than_the_directory_says(method: int) -> None:
    data = archive([Entry("a", packed(LARGE, method), method)])

    def read() -> None:
        opened = BoundedZip(data, LIMITS)
        with pytest.raises(EntryError, match="cannot be read" if method == 8 else METHODS[method]):
            opened.read(opened.files[0], 2**20)

    assert peak_bytes(read) < 2**20


@pytest.mark.parametrize("method", [8, 12, 14])
def test_a_small_zip_of_images_costs_little(method: int) -> None:
    trap = packed(LARGE, method)
    data = archive([Entry(f"{label}/{number}.png", trap, method) for label in "ab" for number in range(2)])

    def load() -> None:
        with pytest.raises(DatasetError, match="skipped files: 4"):
            load_zip(data)

    assert peak_bytes(load) < 2 * 2**20


@pytest.mark.parametrize("method", [8, 12, 14])
def test_a_small_zip_of_a_run_costs_little(tmp_path: Path, method: int) -> None:
    data = archive([Entry("config.json", packed(LARGE, method), method)])

    def load() -> None:
        with pytest.raises(RunError, match="config.json in the zip"):
            import_run(tmp_path, data)

    assert peak_bytes(load) < 2 * 2**20 and not list(tmp_path.iterdir())


def test_an_archive_in_an_archive_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip that holds itself would never end: every way in opens one archive, the upload itself."""
    names = (
        "a/1.png",
        "a/2.zip",
        "model.safetensors",
        "config.json",
        "records.jsonl",
        "snapshots/00000000.safetensors",
    )
    data = archive([Entry("a/1.zip", b"")])
    for _ in range(2):
        data = archive([Entry(name, data, crc=zlib.crc32(data)) for name in names])
    opened: list[int] = []
    open_zip = zipfile.ZipFile.__init__
    monkeypatch.setattr(
        zipfile.ZipFile, "__init__", lambda file, *args: opened.append(1) or open_zip(file, *args)
    )
    with pytest.raises(DatasetError):
        load_zip(data)
    with pytest.raises(RunError):
        import_run(tmp_path / "runs", data)
    with pytest.raises(PretrainedError):
        open_model(write_upload(data, tmp_path, 2**20, is_zip=True))
    assert len(opened) == 3


def test_sizes_are_added_before_anything_is_unpacked() -> None:
    entries = [Entry(f"{number}", packed(300_000, 8), 8, said_bytes=300_000) for number in range(4)]
    with pytest.raises(ZipError, match="unpacks to 1 MB"):
        BoundedZip(archive(entries), LIMITS)


def test_files_that_share_their_bytes_are_refused() -> None:
    entries = [Entry(f"{number}", b"x" * 100) for number in range(3)]
    assert len(BoundedZip(archive(entries), LIMITS).files) == 3
    with pytest.raises(ZipError, match="overlaps another file"):
        BoundedZip(archive(entries, overlapping=True), LIMITS)


def test_names_are_counted_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive([Entry(f"{number}", b"") for number in range(101)])
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("the directory was read"))
    with pytest.raises(ZipError, match="more than 100 files"):
        BoundedZip(data, LIMITS)


@pytest.mark.parametrize("returned", [50, 101, 1000])
def test_a_stored_file_whose_size_is_a_lie_is_refused(returned: int) -> None:
    opened = BoundedZip(archive([Entry("a", b"x" * 100, said_bytes=returned)]), LIMITS)
    with pytest.raises(EntryError):
        opened.read(opened.files[0], 2**20)


def test_a_directory_that_is_slow_to_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    attacks = of_zips()
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("the directory was read"))
    for name in ("names of 64 kB", "extra fields of 64 kB", "a directory with a zip64 record"):
        with pytest.raises(ZipError, match="file list is too large"):
            BoundedZip(attacks[name](), ZipLimits(entries=2000, unpacked_bytes=2**20))
