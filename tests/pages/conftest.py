"""Opens the app as a user does: through app.py, with the query parameters of a link."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime import Runtime
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner
from streamlit.testing.v1.element_tree import Caption
from streamlit.util import calc_hash

from pages.stores import own_weights, registry
from pages.stores.session import UserSession
from pages.stores.shared_results import clear_caches
from tests.photo_model import PUT
from vitviz.checkpoints import Checkpoint, save_checkpoint
from vitviz.config import ModelConfig, Preparation, TrainConfig, ViTConfig
from vitviz.models.presets import GREY_32, VIT_DIGITS
from vitviz.models.zoo import create_model

ROOT = Path(__file__).parents[2]
# By script; the first two are pages of earlier versions, whose views are studies now.
ADDRESSES = {"pages/studies/data/page.py": "data", "pages/train/experiments/page.py": "experiments"} | {
    entry.path: entry.slug for entry in registry.PAGES
}
DIGITS = TrainConfig(dataset="digits")
OpenApp = Callable[..., AppTest]
Files = dict[str, Callable[[], str | bytes]]


@pytest.fixture(autouse=True)
def forget_other_weights(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove a test's uploaded weights, and clear the caches after a test with published weights of its own."""
    yield
    own_weights.STORE.entries.clear()
    if PUT or "weights" in request.fixturenames:
        clear_caches()
        PUT.clear()


@pytest.fixture(autouse=True)
def no_shipped_checkpoints(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Pages are tested on presets, and without datasets of this machine's; the folder can be filled."""
    from pages.stores import catalogue
    from vitviz.models import published_weights

    folder = tmp_path / "checkpoints"
    folder.mkdir()
    monkeypatch.setattr(catalogue, "CHECKPOINTS", folder)
    monkeypatch.setattr(published_weights, "SHIPPED_FOLDERS", (folder,))
    monkeypatch.setenv("VITVIZ_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "no_data"))
    yield folder


@pytest.fixture(autouse=True, scope="session")
def cheap_runs() -> Iterator[None]:
    """For every run of an AppTest Streamlit reads all installed packages' metadata: three quarters of its time.

    It also compiles every script, mocks the whole runtime, and asks every millisecond whether the run has ended.
    """
    scripts, server = ScriptCache(), MagicMock(spec=Runtime)

    def wait(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
        assert runner._script_thread is not None
        runner._script_thread.join(timeout)
        assert runner.script_stopped(), f"the run has not ended in {timeout} s"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: [])
        patch.setattr(local_script_runner, "ScriptCache", lambda: scripts)
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        patch.setattr(app_test, "MagicMock", lambda spec: server)
        yield


@pytest.fixture(autouse=True)
def no_background_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm-up belongs to a server, not to a test."""
    from pages.frame import startup

    monkeypatch.setattr(startup, "start_background_thread", lambda: None)


@pytest.fixture(autouse=True)
def tasks_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page waits for its tasks to their ends: whether it shows progress before is the machine's speed."""
    from pages.stores import tasks

    def wait(task: tasks.BackgroundTask[Any], seconds: float) -> None:
        while not task._ended.wait(0.5):
            tasks.request([task])

    monkeypatch.setattr(tasks.BackgroundTask, "wait", wait)


@pytest.fixture(autouse=True)
def undotted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are compared as they are read: where words are dotted, test_words.py says."""
    from pages.frame import glossary_terms

    if request.module.__name__.rpartition(".")[2] != "test_words":
        monkeypatch.setattr(glossary_terms, "_render_term", lambda returned, term: returned)


@pytest.fixture(autouse=True, scope="session")
def unfolded_captions() -> Iterator[None]:
    """A caption is read with the sentences that open at its end, its help."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Caption, "value", property(lambda caption: f"{caption.proto.body} {caption.proto.help}".rstrip())
        )
        yield


@pytest.fixture(autouse=True)
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test sets controls as if it had opened the button before them: test_popover.py tests a closed one."""
    from pages.controls import popover

    if request.module.__name__.rpartition(".")[2] != "test_popover":
        monkeypatch.setattr(popover, "_read_open", lambda place: True)


@pytest.fixture
def open_app() -> OpenApp:
    """`open_app("pages/lenses/patches/page.py", model="preset:vit_digits")`: the page as that link shows it."""

    def open_page(page: str | None = None, **query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
        if page is not None:
            # `switch_page` would guess the address from the file's name before the app has run once.
            app._page_hash = calc_hash(ADDRESSES[page])
        for key, value in query.items():
            app.query_params[key.replace("__", ".")] = value
        app.run()
        assert not app.exception, [error.message for error in app.exception]
        if "studies.study" in app.query_params:  # an old address has switched to it, as a browser does
            app._page_hash = calc_hash("studies")
        return app

    return open_page


def ship(
    folder: Path,
    name: str,
    config: ModelConfig = VIT_DIGITS,
    train: TrainConfig = DIGITS,
    preparation: Preparation = GREY_32,
    *,
    states: dict[int, Any] | None = None,
    history: Sequence[dict[str, Any]] = (),
    **card: object,
) -> str:
    """Save a checkpoint of these states, or of random weights at steps 0 and 9; return the model's key."""
    states = states or {step: create_model(config, seed=step).state_dict() for step in (0, 9)}
    classes = tuple(str(index) for index in range(config.num_classes))
    path = folder / f"{name}.safetensors"
    save_checkpoint(
        path, Checkpoint(config, preparation, train, classes, history, states, {"title": name} | card)
    )
    return f"checkpoint:{name}"


def put_shipped(folder: Path, *names: str) -> None:
    """Put shipped checkpoints into a folder."""
    for name in names:
        shutil.copy(ROOT / "checkpoints" / f"{name}.safetensors", folder)


def upload(app: AppTest, data: bytes, name: str = "photo.png") -> AppTest:
    """Upload an image in the sidebar."""
    app.session_state["nouns.source"] = "own"
    app.run()
    kind = f"image/{name.rpartition('.')[2].replace('jpg', 'jpeg')}"
    return next(u for u in app.file_uploader if u.label == "Your image").upload(name, data, kind).run()


def query_value(app: AppTest, key: str) -> str:
    """What the address says of a key."""
    value: Any = app.query_params[key]
    return str(value[0] if isinstance(value, list) else value)


def text(app: AppTest, *kinds: str) -> str:
    """Return what the page says in its elements of these kinds, with plain spaces and without Markdown's escapes."""
    lines = (part.value for kind in kinds or ("markdown",) for part in getattr(app.main, kind))
    return re.sub(r"\\(?=\W)", "", "\n".join(lines)).replace("\N{NO-BREAK SPACE}", " ")


def captions(app: AppTest) -> str:
    return text(app, "caption")


def opened_again(app: AppTest, session: UserSession, **changes: str) -> AppTest:
    """The same address in a new session of a session: a reload, or somebody else's."""
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=300)
    again._page_hash = app._page_hash
    again.session_state["_visit"] = session
    for key in app.query_params:
        again.query_params[key] = query_value(app, key)
    for key, value in changes.items():
        again.query_params[key.replace("__", ".")] = value
    again.run()
    assert not again.exception, [error.message for error in again.exception]
    return again


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """What each download of the page would make, by its label; of two of one label the second with its file's name."""
    found: Files = {}
    named: dict[str, str] = {}

    draw = st.download_button

    def download(
        label: str, data: Callable[[], str | bytes], file_name: str, *rest: Any, **more: Any
    ) -> bool:
        assert callable(data), f"{label} is made before it is asked for"
        if not more.get("disabled"):
            first = named.setdefault(label, file_name) == file_name
            found[label if first else f"{label} ({file_name})"] = data
        return draw(label, data, file_name, *rest, **more)

    monkeypatch.setattr(st, "download_button", download)
    return found


def made(make: Callable[[], str | bytes]) -> bytes:
    """What a download gives, made as Streamlit makes it: in a thread that has no session."""
    results: list[str | bytes | BaseException] = []

    def run() -> None:
        try:
            results.append(make())
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (result,) = results
    if isinstance(result, BaseException):
        raise result
    return result.encode() if isinstance(result, str) else result


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a finished run of a tiny ViT on digits."""

    from vitviz.training.run_config import RunConfig
    from vitviz.training.run_directory import Run
    from vitviz.training.run_trainer import Session

    shape = ViTConfig(
        image_size=32, patch_size=8, in_chans=1, embed_dim=16, depth=1, num_heads=2, mlp_ratio=1.0
    )
    train = TrainConfig(dataset="digits", epochs=1, batch_size=256, snapshots=3)
    config = RunConfig(shape, GREY_32, train, "A tiny one", "digits_live")
    run = Run.create(tmp_path_factory.mktemp("trained"), config)
    assert Session(run, device="cpu").perform().state == "done"
    return run.directory


@pytest.fixture
def own_run(trained: Path, no_shipped_checkpoints: Path, tmp_path: Path) -> str:
    """The id of a finished run, as a session trains it; a copy of the test's own."""
    shutil.copytree(trained, tmp_path / "runs" / trained.name)
    return trained.name
