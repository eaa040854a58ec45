"""Published weights in the app: those on the machine can be chosen, others are fetched or say why not."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pages.stores import published_weights
from tests.messages import message
from tests.pages.conftest import OpenApp
from tests.photo_model import put_photo_model
from vitviz.models.file_download import weights_file
from vitviz.models.pretrained_list import PRETRAINED, Pretrained, find
from vitviz.models.published_weights import SHIPPED
from vitviz.probe.capture import Capture, capture
from vitviz.torchvision_fix import import_torchvision

DEIT = "deit_tiny_patch16_224"


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of weights, and a hub that nobody answers for."""
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("VITVIZ_TORCHVISION_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(published_weights, "_downloads", {})
    return tmp_path / "weights"


def test_weights_on_the_machine_can_be_looked_at(open_app: OpenApp, weights: Path) -> None:
    import_torchvision()  # timm needs it
    import timm

    entry = find(DEIT)
    target = weights_file(entry)
    target.parent.mkdir(parents=True)
    save_file(timm.create_model(DEIT).state_dict(), target)  # random weights in the hub's own format
    app = open_app("pages/lenses/attention/page.py", model=f"pretrained:{entry.name}", image="sample:cat")
    assert app.sidebar.selectbox(key="model").value == f"pretrained:{entry.name}"
    assert any("Published weights, trained on ImageNet-1k" in c.value for c in app.sidebar.caption)


def test_offline_the_reason_is_reported_and_the_app_goes_on(open_app: OpenApp, weights: Path) -> None:
    name = find(DEIT).name
    fetch = published_weights.Download(name)
    fetch.run()
    assert fetch.finished and "127.0.0.1" in fetch.error
    published_weights._downloads[name] = fetch
    app = open_app(model="preset:vit_digits")
    app.sidebar.button(key="nouns.more").click().run()
    assert not app.exception and not app.warning, "an error of another user"
    fetch.users.add(app.session_state["_visit"].token)
    app.run()
    assert f"{fetch.error} {published_weights.UPLOAD_HINT}" in [warning.value for warning in app.warning]
    file, entry = weights_file(find(DEIT)), find(DEIT)
    for returned in (file.name, str(file), f"python -m vitviz.fetch {entry.name}"):
        assert returned in fetch.error


def test_a_stopped_fetch_leaves_nothing_and_says_nothing(weights: Path) -> None:
    fetch = published_weights.Download(find(DEIT).name)
    fetch.stop.set()
    fetch.run()
    assert fetch.finished and not fetch.error
    assert not weights_file(find(DEIT)).exists()


def test_the_small_ones_come_first_with_what_they_are_and_can_be_cancelled(
    open_app: OpenApp, weights: Path
) -> None:
    name = find(DEIT).name
    published_weights._downloads[name] = fetch = published_weights.Download(
        name, done_bytes=5_000_000, total_bytes=23_000_000
    )
    app = open_app()
    app.sidebar.button(key="nouns.more").click().run()
    titles = [text.value for text in app.markdown if " MB" in text.value]
    assert [title.split("/")[0].strip("*") for title in titles[:3]] == [
        "DINOv2\\-S",
        "DeiT\\-Ti",
        "DINO ViT\\-S",
    ]
    assert titles[4].startswith("**Swin\\-T")
    assert any(
        "1,000 classes; trained on ImageNet" in returned.value.replace("\\", "") for returned in app.caption
    )
    assert any(weights.name in returned.value for returned in app.caption)
    others = app.selectbox(key="published._name").options
    assert not any("ViT-L" in option for option in others)
    key = f"published._cancel.{name}"
    assert not [button for button in app.button if button.key == key], "another user cancels it"
    fetch.users.add(app.session_state["_visit"].token)
    app.run()
    app.button(key=key).click().run()
    assert fetch.stop.is_set() and not app.exception


def test_one_that_is_here_is_shown_in_one_click(open_app: OpenApp, weights: Path) -> None:
    entry = find(DEIT)
    file = weights_file(entry)
    file.parent.mkdir(parents=True)
    save_file({"a": torch.zeros(2)}, file)
    app = open_app()
    app.sidebar.button(key="nouns.more").click().run()
    app.button(key=f"published._show.{entry.name}").click().run()
    assert app.query_params["model"] == f"pretrained:{entry.name}"
    assert app.sidebar.selectbox(key="model").value == f"pretrained:{entry.name}"
    assert not app.get("dialog")
    file.write_bytes(file.read_bytes()[:-1])  # cut short
    late = open_app(model=f"pretrained:{entry.name}")
    assert "download it under 'Add a model'" in late.sidebar.warning[0].value


def test_uploading_instead_is_offered_only_where_the_upload_would_take_the_file(weights: Path) -> None:
    for name, uploadable in (
        (DEIT, True),
        ("vit_base_patch16_224", False),  # 346 MB
        ("vit_b_32", False),  # torchvision's own format
    ):
        assert published_weights.is_uploadable(find(name).name, 128) == uploadable


def test_an_operator_can_switch_downloads_off(
    open_app: OpenApp, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(published_weights.SWITCH, "0")
    app = open_app()
    app.sidebar.button(key="nouns.more").click().run()
    assert not [button for button in app.button if str(button.key).startswith("published._fetch")]
    assert any(f"`python -m vitviz.fetch {find(DEIT).name}`" in returned.value for returned in app.caption)


def put_saliency_model(monkeypatch: pytest.MonkeyPatch) -> str:
    """Put a small model in place of the saliency model, which also opens at 448 px; return its key there."""
    put_photo_model(monkeypatch, larger_px=(448,))
    return f"{published_weights.KEY}{SHIPPED}@448"


def test_at_448_px_one_layer_s_attention_is_held_at_a_time(
    open_app: OpenApp, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, recorded = put_saliency_model(monkeypatch), []

    def record(model: nn.Module, images: np.ndarray, record: tuple[str, ...], **options: object) -> Capture:
        recorded.append(record)
        return capture(model, images, record, **options)

    monkeypatch.setattr("vitviz.probe.capture.capture", record)
    for view in ("look", "matrix"):
        app = open_app(
            "pages/lenses/attention/page.py", model=key, image="sample:cat", pin="cls", attention__view=view
        )
        assert app.sidebar.selectbox(key="model").value == key
    app = open_app("pages/lenses/attention/page.py", model=key, image="sample:cat")
    header, _ = message(app, "attention.explorer")
    assert (header["grid"], header["strip_layers"]) == ([32, 32], [3])
    assert ("blocks.2.attn",) in recorded and ("blocks.*.attn",) not in recorded


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("pages/start/page.py", "has no classifier head"),
        ("pages/lenses/attention_distance/page.py", "At 448 px the attention of all layers takes 38 MB"),
    ],
)
def test_pages_that_need_classes_or_all_layers_say_why_not(
    open_app: OpenApp, weights: Path, monkeypatch: pytest.MonkeyPatch, page: str, reason: str
) -> None:
    app = open_app(page, model=put_saliency_model(monkeypatch), image="sample:cat")
    assert reason in " ".join(caption.value for caption in app.sidebar.caption)


def test_a_model_that_knows_no_classes_has_no_probes(
    open_app: OpenApp, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = put_saliency_model(monkeypatch).removesuffix("@448")
    app = open_app("pages/lenses/layers/page.py", model=key, image="sample:cat", layers__view="probe")
    assert "has no classes, so a linear probe of classes says little" in app.main.info[0].value


def test_one_file_is_fetched_at_once_and_the_others_wait(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody could begin all of the list: 46 threads and 10 GB at once."""
    begun: list[str] = []
    go_on = threading.Event()

    def slow(entry: Pretrained, reported: object, stopped: object) -> None:
        begun.append(entry.name)
        assert go_on.wait(60)

    monkeypatch.setattr(published_weights, "fetch", slow)
    fetches = [published_weights.Download(name) for name in list(PRETRAINED)[:4]]
    threads = [threading.Thread(target=one.run) for one in fetches]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 60
    while len(begun) < 1 and time.monotonic() < until:
        time.sleep(0.01)
    waiting = [one for one in fetches if one.name not in begun]
    waiting[0].stop.set()
    assert len(waiting) == 3 and not any(one.finished for one in fetches)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert all(one.finished for one in fetches)
    assert len(begun) == 3 and waiting[0].name not in begun, "who cancels while waiting fetches nothing"
