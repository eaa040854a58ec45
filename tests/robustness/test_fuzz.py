"""Every way in takes spoilt files or refuses them in one sentence; for long: `python -m tests.robustness.fuzz`."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.files import zipped
from tests.robustness.fuzz.entries import CRAFTED, NAMES, entry
from tests.robustness.fuzz.watch import Entry, fuzz, measure_attacks

INPUTS = 150
LINKS = 10  # each opens a page
SLOW = (CRAFTED, "links", "archives", "configs", "engine", "masks", "pages", "zips")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in NAMES]
)
def test_it_holds(name: str, tmp_path: Path) -> None:
    if name in ("engine", "masks", "pages") and shutil.which("node") is None:
        pytest.skip("node is not installed")
    inputs = LINKS if name == "links" else INPUTS
    findings = [
        (found.what, found.data[:200]) for found in fuzz(entry(name, tmp_path), range(inputs), seed=1)
    ]
    assert findings == []


@pytest.mark.parametrize(
    "name",
    [
        "lessons",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("archives", "recordings", "zips", CRAFTED)),
    ],
)
def test_attacks_hold(name: str, tmp_path: Path) -> None:
    """Within 2 s of processor time and 300 MB; a lesson within 0.5 s."""
    costs = measure_attacks(entry(name, tmp_path))
    assert [(attack, cost.what) for attack, cost in costs if cost.what is not None] == []


@pytest.mark.slow
def test_the_fuzzer_finds_a_zip_that_is_larger_than_it_says() -> None:
    """As this project read them once: bz2 is not bounded by what the directory says."""

    def read_all(data: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if info.file_size <= 2**20:
                    archive.read(info)

    refusals = (zipfile.BadZipFile, OSError, EOFError, NotImplementedError)
    fragile = Entry("fragile zip", [zipped({"a/b.png": b"picture"})], read_all, refusals)
    assert any(found.what.endswith(" MB") for found in fuzz(fragile, range(300), seed=0))


def test_the_fuzzer_finds_a_shape_without_end() -> None:
    """As this project read them once: 1e999 is a number of JSON, and no int."""

    def shape(data: bytes) -> list[int]:
        return [int(side) for side in json.loads(data)["shape"]]

    refused = (ValueError, KeyError, TypeError)
    fragile = Entry("fragile shape", [b'{"shape": [192, 3, 16, 16]}'], shape, refused)
    assert any(found.what.startswith("OverflowError") for found in fuzz(fragile, range(300), seed=0))
