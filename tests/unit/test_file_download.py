"""Fetching published weights from a server on this machine: progress, cancelling, and what can go wrong."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save

from tests.unit.weights_server import COMMIT, Server, serving
from vitviz.config import ViTConfig
from vitviz.models.file_download import STALE_S, DownloadCancelled, NoNetworkError, download
from vitviz.models.pretrained import load_pretrained
from vitviz.models.pretrained_list import PRETRAINED, PretrainedError, find
from vitviz.models.zoo import create_model

BODY = bytes(range(256)) * 12_000  # three chunks
SMALL = ViTConfig(image_size=16, patch_size=8, num_classes=3, embed_dim=8, depth=1, num_heads=2)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.files = {f"/{folder}file": BODY for folder in ("", "short/", "large/")}
        yield running


def test_a_file_is_fetched_once_with_progress(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    digest = hashlib.sha256(BODY).hexdigest()[:8]
    target = tmp_path / "deep" / "file"
    for _ in range(2):
        download(
            f"{server.url}/file", target, lambda done, total: seen.append((done, total)), sha256_start=digest
        )
    assert target.read_bytes() == BODY
    assert server.asked == ["/file"]
    assert seen[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


@pytest.mark.parametrize(
    ("path", "digest", "error", "message"),
    [
        ("/absent", "", PretrainedError, "refused .*/absent: 404"),
        ("/short/file", "", NoNetworkError, "stopped after 3072000 of 3072001 bytes|cannot be reached"),
        ("/large/file", "", PretrainedError, "more than the limit of 2,147,483,648"),
        ("/file", "00000000", PretrainedError, "not the published file: .*sha256"),
    ],
)
def test_what_goes_wrong_is_reported_and_leaves_nothing(
    server: Server, tmp_path: Path, path: str, digest: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        download(server.url + path, tmp_path / "file", sha256_start=digest)
    assert list(tmp_path.iterdir()) == []


def test_a_download_can_be_stopped(server: Server, tmp_path: Path) -> None:
    done: list[int] = []
    with pytest.raises(DownloadCancelled, match="was stopped"):
        download(
            f"{server.url}/file",
            tmp_path / "file",
            lambda count, _: done.append(count),
            cancelled=lambda: bool(done),
        )
    assert 0 < done[-1] < len(BODY)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_not_the_networks_fault(server: Server, tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(b"")
    with pytest.raises(PretrainedError, match="cannot be written to .*folder: ") as raised:
        download(f"{server.url}/file", tmp_path / "folder" / "file")
    assert not isinstance(raised.value, NoNetworkError)


def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(
    server: Server, tmp_path: Path
) -> None:
    left, growing = tmp_path / ".file.left", tmp_path / ".file.growing"
    for part in (left, growing):
        part.write_bytes(BODY[:9])
    long_ago = time.time() - 2 * STALE_S
    os.utime(left, (long_ago, long_ago))
    assert download(f"{server.url}/file", tmp_path / "file").read_bytes() == BODY
    assert not left.exists() and growing.exists()


def test_without_network_one_sentence(tmp_path: Path) -> None:
    with serving() as closed:
        url = closed.url
    with pytest.raises(NoNetworkError, match="127.0.0.1:.* cannot be reached"):
        download(f"{url}/file", tmp_path / "file")


def test_a_sign_in_page_is_refused_whatever_its_status(server: Server, tmp_path: Path) -> None:
    for path, body, kind in (("/file", b"<!DOCTYPE html>", ""), ("/other", b"Please sign in", "text/html")):
        server.files[path], server.headers = body, {"Content-Type": kind}
        with pytest.raises(NoNetworkError, match="a web page instead of the file"):
            download(server.url + path, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_rate_limit_says_when_to_try_again(server: Server, tmp_path: Path) -> None:
    server.status, server.headers = 429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}
    with pytest.raises(NoNetworkError, match=r"\(429\): try again after Wed, 21 Oct 2026"):
        download(f"{server.url}/file", tmp_path / "file")


def test_dns_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoNetworkError, match=r"name of weights\.invalid could not be resolved \(DNS\)"):
        download("http://weights.invalid/file", tmp_path / "file")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_certificate_of_nobody_is_named(server: Server, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    command = ["openssl", "req", *options, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with pytest.raises(NoNetworkError, match=r"TLS certificate of 127\.0\.0\.1:\d+ could not be verified"):
        download(f"{server.url.replace('http:', 'https:')}/file", tmp_path / "file")


def test_only_http_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(PretrainedError, match="http:// or https://, received file:"):
        download("file:///etc/hostname", tmp_path / "file")


@pytest.fixture
def mirrored(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("VITVIZ_TORCHVISION_ENDPOINT", f"{server.url}/")
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    return server


def test_a_named_architecture_comes_from_the_hub_once(
    mirrored: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = replace(find("deit_tiny_patch16_224"), config=SMALL, opens_at_px=16)
    monkeypatch.setitem(PRETRAINED, entry.name, entry)
    path = f"/timm/{entry.name}/resolve/main/model.safetensors"
    theirs = create_model(SMALL, seed=1).eval()
    mirrored.files[path] = save(theirs.state_dict())
    loaded = [load_pretrained("deit_tiny_patch16_224") for _ in range(2)]
    assert mirrored.asked == [path.replace("main", COMMIT)]
    assert (tmp_path / entry.name / "revision").read_text() == f"{COMMIT}\n"
    # One file may open as two models that differ in their preparation: the name and the size belong to the digest.
    digest = f"{hashlib.sha256(mirrored.files[path]).hexdigest()}:{entry.name}@16"
    assert [model.digest for model in loaded] == [digest, digest]
    x = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(loaded[1].model(x), theirs(x))
    assert loaded[0].trained_on == "ImageNet-1k"


def test_torchvisions_file_is_checked_and_read_without_unpickling_objects(
    mirrored: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        "blocks.0.": "encoder.layers.encoder_layer_0.",
        "norm": "ln_",
        "fc1": "linear_1",
        "fc2": "linear_2",
    }
    exact = {"cls_token": "class_token", "pos_embed": "encoder.pos_embedding"}
    names |= {"attn.qkv.": "self_attention.in_proj_", "attn.proj": "self_attention.out_proj"}
    theirs = create_model(SMALL, seed=1).eval()
    state = {}
    for key, tensor in theirs.state_dict().items():
        if key.startswith("blocks"):
            for ours, other in names.items():
                key = key.replace(ours, other)
        for ours, other in (("patch_embed.proj", "conv_proj"), ("head", "heads.head")):
            key = other + key.removeprefix(ours) if key.startswith(ours) else key
        key = key.replace("norm.", "encoder.ln.") if key.startswith("norm.") else key
        state[exact.get(key, key)] = tensor
    buffer = io.BytesIO()
    torch.save(state, buffer)
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()[:8]
    config = replace(SMALL, positions_antialias=False, positions_align_corners=True)
    entry = replace(find("vit_b_16"), config=config, opens_at_px=16, sha256_start=digest)
    monkeypatch.setitem(PRETRAINED, "vit_b_16", entry)
    mirrored.files["/models/vit_b_16-c867db91.pth"] = buffer.getvalue()
    x = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(load_pretrained("vit_b_16").model(x), theirs(x))
