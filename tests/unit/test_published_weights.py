"""What of the published weights is offered, and `python -m vitviz.fetch`, from a server on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import save

from tests.unit.weights_server import COMMIT, Server, serving
from vitviz import fetch as command
from vitviz.config import ViTConfig
from vitviz.models.file_download import weights_file
from vitviz.models.model_cost import MOST_MILLIONS, millions, published_megabytes, too_large
from vitviz.models.pretrained import load_pretrained
from vitviz.models.pretrained_list import PRETRAINED, PretrainedError, find
from vitviz.models.published_weights import (
    SHIPPED,
    SMALL,
    describe_manual_copy,
    fetch,
    find_weights,
    is_whole,
    list_names,
    list_paths,
    list_weights,
)
from vitviz.models.zoo import create_model, empty_model

TINY = ViTConfig(image_size=16, patch_size=8, num_classes=3, embed_dim=8, depth=1, num_heads=2)
NAME = SMALL[0]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A hub on this machine, and an empty folder of weights."""
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        yield running


def publish(server: Server, monkeypatch: pytest.MonkeyPatch, name: str) -> bytes:
    """Random weights in the hub's own format, under an entry's own address; returns the file."""
    entry = replace(find(name), config=TINY, opens_at_px=16)
    monkeypatch.setitem(PRETRAINED, entry.name, entry)
    body = save(create_model(TINY, seed=1).state_dict())
    server.files[f"/timm/{entry.name}/resolve/main/model.safetensors"] = body
    return body


@pytest.mark.parametrize("name", PRETRAINED)
def test_sizes_are_those_of_the_models(name: str) -> None:
    config = PRETRAINED[name].config
    weights = sum(tensor.numel() for tensor in empty_model(config).state_dict().values())
    assert published_megabytes(config) == 4 * weights / 1e6


def test_the_smallest_good_ones_come_first_and_what_the_app_hides_is_not_offered() -> None:
    offered = list_weights()
    first = (SHIPPED, *SMALL)
    assert tuple(o.name for o in offered[: len(first)]) == first
    assert [o.title for o in offered[: len(first)]] == [
        "DINOv2-S/14, fine-tuned for saliency, int8",
        "DeiT-Ti/16, 224 px",
        "DINO ViT-S/16, 224 px",
        "ViT-S/16, 224 px",
        "Swin-T, 224 px",
    ]
    rest = [round(o.megabytes) for o in offered[len(first) :]]
    assert rest == sorted(rest)
    hidden = {name for name, entry in PRETRAINED.items() if too_large(entry.config)}
    assert hidden == {
        "vit_large_patch16_224.augreg_in21k_ft_in1k",
        "vit_large_patch16_384.augreg_in21k_ft_in1k",
        "vit_l_16",
    }
    assert {o.name for o in offered} == set(PRETRAINED) - hidden
    assert all(millions(PRETRAINED[o.name].config) <= MOST_MILLIONS for o in offered)


def test_an_offer_says_what_a_user_wants_to_know(server: Server, tmp_path: Path) -> None:
    saliency, deit, dino = list_weights()[:3]
    assert (round(deit.megabytes), deit.summary, deit.trained_on) == (23, "1,000 classes", "ImageNet-1k")
    assert (dino.summary, dino.trained_on) == ("no classes", "ImageNet-1k, without labels")
    assert (deit.source, deit.licence) == ("huggingface.co", "")
    assert (round(saliency.megabytes), saliency.summary) == (
        23,
        "separates objects from the background, has no classes",
    )
    path = find_weights(saliency)
    assert path is not None and path == list_paths(saliency)[0] and path.stat().st_size < 23e6
    assert saliency.source == "this project's checkpoints"
    assert "MIT" in saliency.licence and "Apache-2.0" in saliency.licence
    assert list_paths(deit) == [tmp_path / "weights" / deit.name / "model.safetensors"]
    assert deit.command == f"python -m vitviz.fetch {NAME}"


def test_the_command_fetches_into_the_folder_that_the_app_reads(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    body = publish(server, monkeypatch, NAME)
    assert command.main([NAME.partition(".")[0]]) == 0
    path = find_weights(find(NAME))
    assert path is not None and path.read_bytes() == body
    assert f"0.0 MB, {path}" in capsys.readouterr().out
    assert command.main([NAME]) == 0 and len(server.asked) == 1
    assert load_pretrained(NAME).title == "DeiT-Ti/16, 224 px"


def _write_ref(path: Path, commit: str) -> None:
    ref = path.parents[2] / "refs" / "main"
    ref.parent.mkdir()
    ref.write_text(commit)


def test_a_file_that_another_program_left_in_the_hubs_cache_is_found(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(server, monkeypatch, NAME)
    _write_ref(fetch(find(NAME)), COMMIT)
    shutil.rmtree(os.environ["VITVIZ_WEIGHTS"])  # what this app wrote beside it
    cached = find_weights(find(NAME))
    assert cached is not None and list_names() == [NAME, SHIPPED]
    assert fetch(find(NAME)) == cached and len(server.asked) == 1


def test_the_commit_that_was_downloaded_first_stays(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(server, monkeypatch, NAME)
    path = fetch(find(NAME))
    _write_ref(path, "f" * 40)  # another program follows the branch
    assert find_weights(find(NAME)) == path
    path.unlink()
    server.seen.clear()
    assert fetch(find(NAME)).parent.name == COMMIT and server.asked[-1].count(COMMIT) == 1


def test_all_small_are_four(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SMALL:
        publish(server, monkeypatch, name)
    assert command.main(["--all-small"]) == 0
    assert [o.name for o in list_weights() if find_weights(o)] == [SHIPPED, *SMALL]


def test_the_list_names_each_and_the_folder(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    listed = capsys.readouterr().out
    assert all(offer.name in listed for offer in list_weights()) and "vit_large" not in listed
    assert " 23 MB          DeiT-Ti/16, 224 px: 1,000 classes, ImageNet-1k" in listed
    assert os.environ["VITVIZ_WEIGHTS"] in listed and "--all-small" in listed and "311 MB" in listed


def test_without_network_the_message_says_file_place_and_command(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    publish(server, monkeypatch, SMALL[1])
    assert command.main([NAME, "vit_large_patch16_224", "resnet50"]) == 1
    unreachable, too_big, unknown = capsys.readouterr().err.splitlines()
    assert "127.0.0.1:9 cannot be reached. The rest of the app works without these weights" in unreachable
    assert describe_manual_copy(find(NAME)) in unreachable
    assert f"python -m vitviz.fetch {NAME}" in unreachable and "23 MB" in unreachable
    assert str(weights_file(find(NAME))) in unreachable
    assert "302 million parameters, more than the 100 million" in too_big
    assert "vitviz.load opens other ViTs and Swins by their id on the hub" in unknown


def test_a_host_that_refuses_leads_to_the_same_way(server: Server) -> None:
    with pytest.raises(
        PretrainedError,
        match="404 Not Found. The rest of the app .* On a machine with a network",
    ):
        fetch(find(NAME))


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_a_partial_file_is_no_file_and_is_fetched_again(
    server: Server, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    body = publish(server, monkeypatch, NAME)
    path = weights_file(find(NAME))
    path.parent.mkdir(parents=True)
    path.write_bytes(body[:cut])
    assert find_weights(find(NAME)) is None
    fetched = fetch(find(NAME))
    assert fetched.read_bytes() == body and is_whole(fetched) and not path.exists()


@pytest.mark.parametrize(
    "junk", [b"", b"\xff" * 64, b"\x02" + b"\0" * 7 + b"[]", b"\x02" + b"\0" * 7 + b"{}x"]
)
def test_junk_is_not_whole(tmp_path: Path, junk: bytes) -> None:
    for name in ("file.safetensors", "file.pth"):
        (tmp_path / name).write_bytes(junk)
        assert not is_whole(tmp_path / name)
    assert not is_whole(tmp_path / "absent.safetensors") and not is_whole(tmp_path)
