"""The lab before a first run: a shipped training plays, is called recorded, and is what its file says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.train.lab import flip_book, snapshots
from tests.pages.conftest import put_shipped
from tests.pages.lab.helpers import PAGE, FakeExecutor, OpenApp, start_button, until, view
from vitviz.checkpoint_header import Header, read_header
from vitviz.growth import load_growth
from vitviz.text import percent

SHIPPED = Path(__file__).parents[3] / "checkpoints"
NAME = "digits_vit"


@pytest.fixture(autouse=True)
def nothing_computes_on() -> Iterator[None]:
    """A thread that still computes images would be torn down with the interpreter."""
    yield
    flip_book.clear_caches()


@pytest.fixture
def shipped(no_shipped_checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Header:
    monkeypatch.setattr(snapshots, "HELD_OUT", 8)  # of 200 images: how well they are read is not asked here
    put_shipped(no_shipped_checkpoints, NAME, "cifar10_vit")
    return read_header(SHIPPED / f"{NAME}.safetensors")


def records(header: Header, kind: str, *names: str) -> np.ndarray:
    found = [r for r in header.history if r["kind"] == kind and r.get("split", "validation") == "validation"]
    return np.array([[record.get(name, np.nan) for name in names] for record in found], np.float32).T


def check_moments(header: dict[str, Any], shipped: Header) -> None:
    """A file says of a snapshot its step alone: epoch and seconds lie between the records around it."""
    moments = header["moments"]
    step, epoch, seconds = records(shipped, "step", "step", "epoch", "seconds")
    for at, words in zip(header["steps"], moments, strict=True):
        said_epoch, said_seconds = (
            float(part.split()[i]) for part, i in zip(words.split(" · "), (1, 0), strict=False)
        )
        right = int(np.searchsorted(step, at))
        low, high = max(right - 1, 0) if at else 0, right
        assert (epoch[low] if at > step[0] else 0) - 0.05 <= said_epoch <= epoch[high] + 0.05
        assert (seconds[low] if at > step[0] else 0) - 0.05 <= said_seconds <= seconds[high] + 0.05


def test_the_curves_are_the_files_history(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, shipped: Header
) -> None:
    app = open_app(PAGE)
    header, arrays = view(app, "recorded")
    places = ("step", "epoch", "seconds", "loss", "accuracy")
    np.testing.assert_array_equal(arrays["series0"][:5], records(shipped, "step", *places))
    np.testing.assert_array_equal(arrays["series1"], records(shipped, "evaluation", *places))
    assert header["film"] and header["focus"] == f"checkpoint:{NAME}"
    words = " ".join(found.value for found in (*app.main.markdown, *app.main.caption)).replace("\\", "")
    assert ":material/replay: recorded" in words and shipped.card["date"] in words
    assert f"Test accuracy {percent(shipped.card['test_accuracy'])}." in words


def test_nothing_is_queued_or_trained_by_it_and_a_run_of_ones_own_takes_its_place(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, shipped: Header
) -> None:
    app = open_app(PAGE)
    until(app, lambda: bool(view(app, "life")[0]["plays"]))
    header, _ = view(app, "life")
    growth = load_growth(SHIPPED / "growth" / f"{NAME}.npz")
    assert header["steps"] == growth.steps.tolist()
    check_moments(header, shipped)
    assert executor.orders == [] and not [path for path in folder.iterdir() if path.is_dir()]
    start_button(app).click().run()
    assert not app.exception
    assert view(app, "curves")[0]["focus"] in [path.name for path in folder.iterdir() if path.is_dir()]
    assert not any("-live_lab.recorded" in part.proto.id for part in app.main.get("bidi_component"))


def test_it_reads_an_image_of_its_own_set(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, shipped: Header
) -> None:
    """A preset with random weights has no training to show: the one that the app opens with stands there."""
    app = open_app(PAGE, model="preset:vit_cifar10", image="shapes:3")
    assert view(app, "recorded")[0]["focus"] == f"checkpoint:{NAME}"
    assert app.session_state["_selection"].model == f"checkpoint:{NAME}", "the sidebar follows the recording"
    assert any("Your image is not shown" in caption.value for caption in app.sidebar.caption)


def test_the_chosen_models_own_training_plays(
    open_app: OpenApp, executor: FakeExecutor, folder: Path, shipped: Header
) -> None:
    app = open_app(PAGE, model="checkpoint:cifar10_vit")
    assert view(app, "recorded")[0]["focus"] == "checkpoint:cifar10_vit"
    assert not any("**CIFAR-10 " in caption.value for caption in app.main.caption), "no image is substituted"
