"""Downloads from a model hub on this machine: resume, token, revision, checks, and each failure by its name."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from safetensors.torch import save

import vitviz
from tests.unit.weights_server import COMMIT, Server, serving
from vitviz.config import ViTConfig
from vitviz.models.file_download import DownloadCancelled, NoNetworkError
from vitviz.models.hub import (
    HubFolder,
    fetch_hub_folder,
    find_hub_folder,
    is_hub_id,
    list_hub_folder,
)
from vitviz.models.pretrained_list import PretrainedError
from vitviz.models.vit import VisionTransformer
from vitviz.models.zoo import create_model

SHAPE = ViTConfig(
    image_size=16, patch_size=8, num_classes=3, embed_dim=16, depth=2, num_heads=2, mlp_ratio=2.0
)

BODY = os.urandom(3_000_000)
NAME = "model.safetensors"
FOLDER = HubFolder("timm/some_model", "main", {NAME: 10_000_000})
PATH = "/timm/some_model/resolve/main/model.safetensors"


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
    assert FOLDER.find() is None
    path = fetch_hub_folder(FOLDER, None, lambda *counts: done.append(counts)) / NAME
    assert path.read_bytes() == BODY and path.parent.name == COMMIT
    assert path.parent in (FOLDER.find(), replace(FOLDER, commit=COMMIT).find())
    assert path.is_relative_to(tmp_path / "hf" / "hub")
    assert done[-1] == (len(BODY), len(BODY))
    assert {seen["authorization"] for seen in hub.seen} == {"Bearer hf_secret"}
    fetch_hub_folder(FOLDER)
    assert len(hub.asked) == 1, "the second time nothing is downloaded"


def test_a_dropped_connection_is_resumed(hub: Server) -> None:
    hub.cut_bytes = 2_000_000
    assert (fetch_hub_folder(FOLDER) / NAME).read_bytes() == BODY
    ranges = [seen["range"] for seen in hub.seen if "range" in seen]
    assert len(ranges) == 1 and 0 < int(ranges[0].removeprefix("bytes=").rstrip("-")) <= 2_000_000


def test_a_download_can_be_cancelled_and_leaves_no_partial_file(hub: Server, tmp_path: Path) -> None:
    hub.pause_s = 0.1
    done: list[int] = []
    with pytest.raises(DownloadCancelled):
        fetch_hub_folder(
            FOLDER, None, lambda count, _: done.append(count), lambda: bool(done and done[-1] > 0)
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
        fetch_hub_folder(FOLDER)


def test_a_download_that_waits_for_another_program_can_be_cancelled(hub: Server, tmp_path: Path) -> None:
    lock = tmp_path / "hf/hub/.locks/models--timm--some_model" / f"{hashlib.sha256(BODY).hexdigest()}.lock"
    lock.parent.mkdir(parents=True)
    with FileLock(lock), pytest.raises(DownloadCancelled):
        fetch_hub_folder(FOLDER, cancelled=lambda: bool(hub.seen))


def test_a_sign_in_page_with_status_200_is_refused_as_such(hub: Server) -> None:
    hub.files[PATH] = b"<html>Please sign in</html>"
    hub.headers = {"X-Repo-Commit": "", "ETag": "", "Content-Type": "text/html"}
    with pytest.raises(
        NoNetworkError, match="web page instead of the file: the network may require a sign-in"
    ):
        fetch_hub_folder(FOLDER)
    assert FOLDER.find() is None


def test_another_file_than_the_hub_names_is_refused_and_removed(hub: Server) -> None:
    hub.headers = {"ETag": f'"{"0" * 64}"'}
    with pytest.raises(PretrainedError, match="not the file that the hub names: expected sha256 00000000"):
        fetch_hub_folder(FOLDER)
    assert replace(FOLDER, commit=COMMIT).find() is None


def test_a_file_beyond_the_limit_is_refused_before_it_is_downloaded(hub: Server) -> None:
    hub.headers = {"X-Linked-Size": str(1 << 40)}
    with pytest.raises(PretrainedError, match="more than the limit of 2,147,483,648"):
        fetch_hub_folder(FOLDER)
    assert not hub.asked


def test_offline_mode_is_respected(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NoNetworkError, match="HF_HUB_OFFLINE is set"):
        fetch_hub_folder(FOLDER)
    assert not hub.seen


def test_dns_certificates_and_closed_ports_are_named(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    with pytest.raises(NoNetworkError, match=r"the name of hub\.invalid could not be resolved \(DNS\)"):
        fetch_hub_folder(FOLDER)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(NoNetworkError, match="127.0.0.1:9 cannot be reached"):
        fetch_hub_folder(FOLDER)


def test_a_full_disk_is_reported_before_anything_is_downloaded(hub: Server) -> None:
    with pytest.raises(PretrainedError, match="MB free, and the download needs up to"):
        fetch_hub_folder(replace(FOLDER, files={NAME: 1 << 60}))
    assert not hub.seen


REPO = "someone/tiny-vit"
LABELS = ("ant", "bee", "cat")


def publish_vit(hub: Server, *, shards: bool = False) -> VisionTransformer:
    """Put a small timm-shaped ViT of three named classes on the hub, beside files that nothing opens."""
    model = create_model(SHAPE, seed=3)
    assert isinstance(model, VisionTransformer)
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    files = {"model.safetensors": save(state)}
    if shards:
        parts = [dict(list(state.items())[at::2]) for at in (0, 1)]
        names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
        files = {name: save(part) for name, part in zip(names, parts, strict=True)}
        index = {key: name for name, part in zip(names, parts, strict=True) for key in part}
        files["model.safetensors.index.json"] = json.dumps({"weight_map": index}).encode()
    config = {"model_args": {"num_heads": 2, "img_size": 16}, "label_names": LABELS, "mean": [0.1] * 3}
    files["config.json"] = json.dumps(config | {"std": [0.2] * 3}).encode()
    files |= {"README.md": b"# Tiny", "pytorch_model.bin": b"PK\x03\x04", "onnx/model.safetensors": b"other"}
    hub.files |= {f"/{REPO}/resolve/main/{name}": body for name, body in files.items()}
    return model


@pytest.mark.parametrize("shards", [False, True])
def test_a_hub_id_opens_with_its_labels_and_preparation(hub: Server, shards: bool) -> None:
    expected = publish_vit(hub, shards=shards)
    loaded = vitviz.load(REPO)
    assert (loaded.title, loaded.classes, loaded.preparation.mean) == (REPO, LABELS, (0.1,) * 3)
    x = torch.randn(1, 3, 16, 16)
    assert torch.equal(loaded.model(x), expected.eval()(x))
    asked = {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path}
    assert "config.json" in asked and not {"README.md", "pytorch_model.bin"} & asked
    assert not any("onnx" in path for path in hub.asked)
    assert vitviz.load(f"hf-hub:{REPO}@{COMMIT}").classes == LABELS


def test_the_size_is_known_before_anything_is_downloaded(hub: Server) -> None:
    publish_vit(hub)
    listed = list_hub_folder(REPO)
    sizes = {path.rpartition("/")[2]: len(body) for path, body in hub.files.items() if "onnx" not in path}
    assert listed.files == {name: sizes[name] for name in ("config.json", "model.safetensors")}
    assert listed.commit == COMMIT and not any("/resolve/" in path for path in hub.asked)
    done: list[tuple[int, int | None]] = []
    fetch_hub_folder(listed, progress=lambda *counts: done.append(counts))
    assert done[-1] == (listed.nbytes, listed.nbytes) and done == sorted(done)


def test_a_public_download_sends_no_token_and_leaves_the_shared_cache_alone(
    hub: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    publish_vit(hub)
    folder = fetch_hub_folder(list_hub_folder(REPO, public=True), tmp_path / "elsewhere")
    assert folder.is_relative_to(tmp_path / "elsewhere") and find_hub_folder(REPO) is None
    assert hub.seen and not any("authorization" in headers for headers in hub.seen)


def test_a_cached_model_opens_without_a_network(hub: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_vit(hub)
    vitviz.load(REPO)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert vitviz.load(REPO).classes == LABELS
    with pytest.raises(NoNetworkError, match="HF_HUB_OFFLINE is set.*'someone/other' is no file or folder"):
        vitviz.load("someone/other")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no public model someone/tiny-vit, or not at this revision"),
        (
            {"pytorch_model.bin": b"PK"},
            "no safetensors file on its first level: it has pytorch_model.bin, which can run",
        ),
        ({"README.md": b"#"}, "no safetensors file on its first level: nothing to open"),
        ({"a.safetensors": b"", "b.safetensors": b""}, "has 2 safetensors files without an index"),
    ],
)
def test_a_repository_that_does_not_open_is_one_sentence(
    hub: Server, files: dict[str, bytes], message: str
) -> None:
    hub.files = {f"/{REPO}/resolve/main/{name}": body for name, body in files.items()}
    with pytest.raises(PretrainedError, match=message) as refused:
        vitviz.load(REPO)
    assert "\n" not in str(refused.value)


def test_a_gated_model_is_named_as_such(hub: Server) -> None:
    publish_vit(hub)
    listed = list_hub_folder(REPO)
    hub.status, hub.headers = 403, {"X-Error-Code": "GatedRepo"}
    with pytest.raises(NoNetworkError, match="is gated: accept its terms on 127.0.0.1"):
        fetch_hub_folder(listed)


@pytest.mark.parametrize(
    "text", ["a/b/c", "../b", "a/..", "a--b/c", "a b/c", "/etc/passwd", "./a", "a/b@", "ä/b", "a"]
)
def test_what_is_no_hub_id_is_not_asked_for(hub: Server, text: str) -> None:
    with pytest.raises(PretrainedError, match="named owner/name or owner/name@revision"):
        list_hub_folder(text)
    assert not is_hub_id(text) and not hub.seen
