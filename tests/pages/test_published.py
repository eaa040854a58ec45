"""Published weights in the app: those on the machine can be chosen, others are fetched or say why not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import save_file
from streamlit.testing.v1 import AppTest

from pages.stores import published
from vitviz.models.download import weights_file
from vitviz.models.pretrained_list import find
from vitviz.torchvision_fix import import_torchvision

OpenApp = Callable[..., AppTest]
DEIT = "deit_tiny_patch16_224"


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of weights, and a hub that nobody answers for."""
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(published, "_fetches", {})
    return tmp_path / "weights"


def test_weights_on_the_machine_can_be_looked_at(open_app: OpenApp, weights: Path) -> None:
    import_torchvision()  # timm needs it
    import timm

    entry = find(DEIT)
    target = weights_file(entry)
    target.parent.mkdir(parents=True)
    save_file(timm.create_model(DEIT).state_dict(), target)  # random weights in the hub's own format
    app = open_app("pages/inside/attention/page.py", model=f"pretrained:{entry.name}", image="sample:cat")
    assert app.sidebar.selectbox(key="model").value == f"pretrained:{entry.name}"
    assert any("Published weights, trained on ImageNet-1k" in c.value for c in app.sidebar.caption)


def test_offline_the_reason_is_said_and_the_app_goes_on(open_app: OpenApp, weights: Path) -> None:
    name = find(DEIT).name
    fetch = published.Fetch(name)
    fetch.run()
    assert fetch.finished and "127.0.0.1" in fetch.error
    published._fetches[name] = fetch
    app = open_app(model="preset:vit_digits")
    app.sidebar.button(key="nouns.more").click().run()
    assert not app.exception
    assert fetch.error in [warning.value for warning in app.warning]
    file, entry = weights_file(find(DEIT)), find(DEIT)
    for said in (file.name, str(file), f"python -m vitviz.fetch {entry.name}", "'Your own weights' below"):
        assert said in fetch.error


def test_a_stopped_fetch_leaves_nothing_and_says_nothing(weights: Path) -> None:
    fetch = published.Fetch(find(DEIT).name)
    fetch.stop.set()
    fetch.run()
    assert fetch.finished and not fetch.error
    assert not weights_file(find(DEIT)).exists()
