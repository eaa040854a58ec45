"""Downloads from a model hub on this machine: resume, token, revision, checks, and each failure by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.weights_server import COMMIT, Server, serving
from vitviz.models.download import DownloadCancelled, NoNetworkError
from vitviz.models.hub import HubFile, fetch_hub_file
from vitviz.models.pretrained_list import PretrainedError

BODY = os.urandom(3_000_000)
FILE = HubFile("timm/some_model", "model.safetensors")
PATH = "/timm/some_model/resolve/main/model.safetensors"
NEEDED_BYTES = 10_000_000


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        for name in ("HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"):
            monkeypatch.delenv(name, raising=False)
        running.files[PATH] = BODY
        yield running


def test_a_file_is_cached_at_its_commit_with_progress_and_token(
    hub: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    done: list[tuple[int, int | None]] = []
    assert FILE.find() is None
    path = fetch_hub_file(FILE, NEEDED_BYTES, lambda *counts: done.append(counts))
    assert path.read_bytes() == BODY and path.parent.name == COMMIT
    assert path == FILE.find() or path == HubFile(FILE.repo, FILE.name, COMMIT).find()
    assert path.is_relative_to(tmp_path / "hf" / "hub")
    assert done[-1] == (len(BODY), len(BODY))
    assert {seen["authorization"] for seen in hub.seen} == {"Bearer hf_secret"}
    fetch_hub_file(FILE, NEEDED_BYTES)
    assert len(hub.asked) == 1, "the second time nothing is downloaded"


def test_a_dropped_connection_is_resumed(hub: Server) -> None:
    hub.cut_bytes = 2_000_000
    assert fetch_hub_file(FILE, NEEDED_BYTES).read_bytes() == BODY
    ranges = [seen["range"] for seen in hub.seen if "range" in seen]
    assert len(ranges) == 1 and 0 < int(ranges[0].removeprefix("bytes=").rstrip("-")) <= 2_000_000


def test_a_download_can_be_cancelled_and_leaves_no_partial_file(hub: Server, tmp_path: Path) -> None:
    hub.pause_s = 0.1
    done: list[int] = []
    with pytest.raises(DownloadCancelled):
        fetch_hub_file(
            FILE, NEEDED_BYTES, lambda count, _: done.append(count), lambda: bool(done and done[-1] > 0)
        )
    left = [path for path in (tmp_path / "hf").rglob("*") if path.is_file() and path.stat().st_size > 1000]
    assert left == [] and done[-1] < len(BODY)


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (429, {"Retry-After": "90"}, r"limits the rate of requests \(429\): try again in 90 s"),
        (404, {}, "refused .*model.safetensors: 404 Not Found"),
        (401, {}, r"\(401\): it needs access rights, set HF_TOKEN"),
        (503, {}, "refused .*503"),
    ],
)
def test_refusals_are_named(hub: Server, status: int, headers: dict[str, str], message: str) -> None:
    hub.status, hub.headers = status, headers
    with pytest.raises(NoNetworkError, match=message):
        fetch_hub_file(FILE, NEEDED_BYTES)


def test_a_sign_in_page_with_status_200_is_refused_as_such(hub: Server) -> None:
    hub.files[PATH] = b"<html>Please sign in</html>"
    hub.headers = {"X-Repo-Commit": "", "ETag": "", "Content-Type": "text/html"}
    with pytest.raises(
        NoNetworkError, match="web page instead of the file: the network may require a sign-in"
    ):
        fetch_hub_file(FILE, NEEDED_BYTES)
    assert FILE.find() is None


def test_another_file_than_the_hub_names_is_refused_and_removed(hub: Server) -> None:
    hub.headers = {"ETag": f'"{"0" * 64}"'}
    with pytest.raises(PretrainedError, match="not the file that the hub names: expected sha256 00000000"):
        fetch_hub_file(FILE, NEEDED_BYTES)
    assert HubFile(FILE.repo, FILE.name, COMMIT).find() is None


def test_a_file_beyond_the_limit_is_refused_before_it_is_downloaded(hub: Server) -> None:
    hub.headers = {"X-Linked-Size": str(1 << 40)}
    with pytest.raises(PretrainedError, match="more than the limit of 2,147,483,648"):
        fetch_hub_file(FILE, NEEDED_BYTES)
    assert not hub.asked


def test_offline_mode_is_respected(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NoNetworkError, match="HF_HUB_OFFLINE is set"):
        fetch_hub_file(FILE, NEEDED_BYTES)
    assert not hub.seen


def test_dns_certificates_and_closed_ports_are_named(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    with pytest.raises(NoNetworkError, match=r"the name of hub\.invalid could not be resolved \(DNS\)"):
        fetch_hub_file(FILE, NEEDED_BYTES)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(NoNetworkError, match="127.0.0.1:9 cannot be reached"):
        fetch_hub_file(FILE, NEEDED_BYTES)


def test_a_full_disk_is_said_before_anything_is_downloaded(hub: Server) -> None:
    with pytest.raises(PretrainedError, match="MB free, and the download needs up to"):
        fetch_hub_file(FILE, 1 << 60)
    assert not hub.seen
