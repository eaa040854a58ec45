"""What the tests of the lab's page share: an executor that trains nothing, and what a client view was told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.messages import Leaves, body, unpack
from vitviz.config import TrainConfig, ViTConfig
from vitviz.models.presets import GREY_32
from vitviz.training.atomic_files import write_status
from vitviz.training.run_config import RunConfig
from vitviz.training.run_directory import Run, Status

PAGE = "pages/train/lab/page.py"
OpenApp = Callable[..., AppTest]
CONFIG = RunConfig(
    ViTConfig(image_size=32, patch_size=8, in_chans=1, embed_dim=16, depth=2, num_heads=2, mlp_ratio=1.0),
    GREY_32,
    TrainConfig(dataset="digits", epochs=1, batch_size=64, learning_rate=3e-3, snapshots=5),
    "A tiny one",
    "digits_live",
)


@dataclass
class FakeExecutor:
    """Takes orders and does nothing."""

    folder: Path
    orders: list[tuple[str, Any]] = field(default_factory=list)
    silent: str = ""  # why what waits is not taken up

    def start(self, config: RunConfig, address: str = "", first: bool = False) -> Run:
        self.orders.append(("start", config))
        run = Run.create(self.folder, config.on_threads(2))
        write_status(run.directory / "status.json", asdict(Status("queued", heartbeat=9e9)))
        return run

    def queue_position(self, run: Run) -> int | None:
        return 2 if run.status().state == "queued" else None

    def trouble(self) -> str:
        return self.silent

    def running(self) -> list[str]:
        return []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda run, address="": self.orders.append((name, run.id))


def belongs(app: AppTest, run: Run) -> AppTest:
    """The same page once the run is the session's own: whoever has a link alone looks on."""
    path = run.directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "owner": app.session_state["_visit"].owner}))
    return app.run()


def view(app: AppTest, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of the client view with this key; of the flip-book all, whatever this message brought."""
    if key != "life":
        return unpack(body(message(app, key)))
    leaves = vars(app).setdefault("leaves", Leaves())
    book = leaves.bound(message(app, key))
    if book is None:  # as the browser does where runs of the page came that it has not seen
        app.session_state["live_lab.life"] = {"again": True}
        app.run()
        book = leaves.bound(message(app, key))
    assert book is not None
    return book


def message(app: AppTest, key: str) -> bytes:
    """What the client view with this key was sent in the last run of the page."""
    (found,) = [
        part.proto.bytes for part in app.main.get("bidi_component") if f"-live_lab.{key}" in part.proto.id
    ]
    return found


def start_button(app: AppTest) -> Any:
    return app.main.button(key="live_lab._start")


def errors(app: AppTest) -> str:
    """What the errors say; signs of Markdown's that stand for themselves as they are."""
    return "\n".join(error.value for error in app.main.error).replace("\\", "")


def until(app: AppTest, done: Callable[[], bool], deadline_s: float = 240.0) -> None:
    """Polls as a page does, while a thread of the server computes."""
    end = time.monotonic() + deadline_s
    while not done():
        assert time.monotonic() < end, "the thread behind the page has not come so far"
        time.sleep(0.05)
        app.run()
        assert not app.exception, app.exception[0].message
