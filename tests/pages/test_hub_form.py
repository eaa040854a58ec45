"""A model of the hub in the app: its size is shown and agreed to; progress, cancel, limits; errors are one user's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import hub_jobs, own_weights
from tests.pages.conftest import OpenApp
from tests.unit.test_hub import LABELS, REPO, publish_vit
from tests.unit.weights_server import Server, serving

PAGE = "pages/lenses/attention/page.py"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_TOKEN", "hf_of_the_operator")
        publish_vit(running)
        yield running
    own_weights.STORE.entries.clear()
    hub_jobs._jobs.clear()


def look_up(open_app: OpenApp, hub_id: str = REPO) -> AppTest:
    app = open_app(PAGE, image="sample:cat")
    app.sidebar.button(key="nouns.more").click().run()
    app.text_input(key="hub_form._id").set_value(hub_id)
    next(button for button in app.button if button.label == "Look up").click().run()
    return wait(app)


def wait(app: AppTest) -> AppTest:
    """Rerun the page, as its fragment does, until the job has nothing more to do."""
    end = time.monotonic() + 240
    while has_button(app, "Cancel") and time.monotonic() < end:
        time.sleep(0.1)
        app.run()
    assert not app.exception
    return app


def has_button(app: AppTest, label: str) -> bool:
    return any(button.label.startswith(label) for button in app.button)


def test_a_model_is_downloaded_after_its_size_is_agreed_to(open_app: OpenApp, hub: Server) -> None:
    app = look_up(open_app)
    assert any(r"0.0 MB, config\.json, model\.safetensors" in text.value for text in app.markdown)
    assert not any("/resolve/" in path for path in hub.asked)
    app.button(key="hub_form._agree").click().run()
    wait(app)
    key = app.sidebar.selectbox(key="model").value
    model = own_weights.get_model(key)
    assert (model.title, model.classes, model.preparation.mean) == (REPO, LABELS, (0.1,) * 3)
    entry = own_weights.STORE.get(key.removeprefix(own_weights.KEY))
    assert entry is not None and [path.name for path in entry.folder.path.iterdir()] == ["mapped.weights"]
    # The operator's token is for no user, and nothing stays in the operator's cache.
    assert not any("authorization" in headers for headers in hub.seen)
    assert not [path for path in Path(str(own_weights.os.environ["HF_HOME"])).rglob("*") if path.is_file()]


@pytest.mark.slow
def test_a_download_can_be_cancelled(open_app: OpenApp, hub: Server) -> None:
    hub.pause_s = 5.0
    app = look_up(open_app)
    app.button(key="hub_form._agree").click().run()
    next(button for button in app.button if button.label == "Cancel").click().run()
    assert not has_button(app, "Cancel") and not has_button(app, "Download 0") and not app.warning
    assert not own_weights.STORE.entries


def test_an_error_is_its_own_users(open_app: OpenApp, hub: Server) -> None:
    app = look_up(open_app, "nobody/nothing")
    assert any("has no public model nobody/nothing" in warning.value for warning in app.warning)
    other = open_app(PAGE, image="sample:cat")
    other.sidebar.button(key="nouns.more").click().run()
    assert not other.warning
    app = look_up(open_app, "no id")
    assert any("named owner/name" in warning.value for warning in app.warning)


def test_a_model_beyond_the_operators_limit_is_refused(
    open_app: OpenApp, hub: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITVIZ_HUB_MB", "1")
    hub.files[f"/{REPO}/resolve/main/model.safetensors"] = bytes(2_000_000)
    app = look_up(open_app)
    assert any(
        "has 2 MB, more than the 1 MB that this server takes" in warning.value for warning in app.warning
    )
    assert not has_button(app, "Download 2")


@pytest.mark.parametrize("switch", [("VITVIZ_HUB_MB", "0"), ("VITVIZ_DOWNLOADS", "0")])
def test_the_operator_switches_it_off(
    open_app: OpenApp, hub: Server, monkeypatch: pytest.MonkeyPatch, switch: tuple[str, str]
) -> None:
    monkeypatch.setenv(*switch)
    app = open_app(PAGE, image="sample:cat")
    app.sidebar.button(key="nouns.more").click().run()
    assert any("operator has switched downloads off" in caption.value for caption in app.caption)
    assert not has_button(app, "Look up")
