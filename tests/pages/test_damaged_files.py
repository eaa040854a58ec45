"""Files of data, weights and runs that are damaged or go while they are shown: one sentence, and the page goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from pages.stores import shared_results
from tests.pages.conftest import OpenApp, query_value
from tests.robustness.run_files import new_run
from vitviz.data.dataset import Dataset
from vitviz.data.dataset_cache import data_file, write_dataset
from vitviz.models.file_download import weights_file
from vitviz.models.pretrained_list import find
from vitviz.training.run_trainer import Session

PAGES = ("pages/start/page.py", "pages/lenses/patches/page.py", "pages/lenses/attention_distance/page.py")
MODEL = "preset:vit_digits"


@pytest.fixture
def mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of twenty digits under MNIST's name."""
    monkeypatch.setenv("VITVIZ_DATA", str(tmp_path / "data"))
    shared_results.clear_caches()
    images, labels = np.random.default_rng(0).integers(0, 256, (20, 28, 28, 1), np.uint8), np.arange(20) % 10
    digits = tuple(map(str, range(10)))
    write_dataset(Dataset("mnist", images, labels, images, labels, digits), data_file("mnist"))
    return data_file("mnist")


def spoilt(path: Path, how: str) -> None:
    """Not a zip at all, cut off, or whole but for one byte within its arrays."""
    whole = path.read_bytes()
    flipped = bytes([*whole[:5000], whole[5000] ^ 255, *whole[5001:]])
    path.write_bytes({"another": b"\x80pickle", "cut": whole[:-99], "flipped": flipped}[how])


@pytest.mark.parametrize("how", ["another", "cut", "flipped"])
def test_a_damaged_set_is_reported_and_another_image_is_shown(
    open_app: OpenApp, mnist: Path, how: str
) -> None:
    spoilt(mnist, how)
    for page in PAGES:
        app = open_app(page, model=MODEL, image="mnist:3")
        assert query_value(app, "image") == "digits:0"
        (warning,) = [one.value for one in app.sidebar.warning if "MNIST" in one.value]
        assert "MNIST" in warning and "damaged" in warning


def test_a_set_that_goes_while_it_is_shown_is_reported(open_app: OpenApp, mnist: Path) -> None:
    app = open_app(PAGES[1], model=MODEL, image="mnist:3")
    shutil.rmtree(mnist.parent)
    assert not app.run().exception and query_value(app, "image") == "digits:0"
    assert any("MNIST is not on this server" in w.value for w in app.sidebar.warning)


@pytest.mark.parametrize("page", (*PAGES, "pages/lenses/attention/page.py", "pages/lenses/block/page.py"))
def test_weights_that_are_another_models_are_reported(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setenv("VITVIZ_WEIGHTS", str(tmp_path / "weights"))
    entry = find("deit_tiny_patch16_224")
    weights_file(entry).parent.mkdir(parents=True)
    save_file({"a": torch.zeros(2)}, weights_file(entry))
    app = open_app(page, model=f"pretrained:{entry.name}")
    for error in app.main.error:
        assert error.value.startswith("Cannot show this page: these are not the weights of deit"), error.value
        assert error.value.endswith("Select another model or image in the sidebar.")
    assert app.main.error
    assert app.sidebar.selectbox(key="model").value == f"pretrained:{entry.name}"


def test_a_damaged_snapshot_of_a_run_is_reported(open_app: OpenApp, tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs")
    assert Session(run, "cpu").perform().state == "done"
    first, *_, last = run.snapshots()
    run.snapshot_path(last).write_bytes(run.snapshot_path(last).read_bytes()[:-9])
    app = open_app(PAGES[1], model=f"run:{run.id}", step=str(last))
    assert "Cannot show this page" in app.main.error[0].value
    assert not open_app(PAGES[1], model=f"run:{run.id}", step=str(first)).main.error


def test_what_is_no_damaged_file_is_not_hidden() -> None:
    from pages.frame import page

    with pytest.raises(ZeroDivisionError), page.show_file_errors():
        raise ZeroDivisionError
