"""What lenses say of a model: on this image, until it is measured on a set of images or was stored with it."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save
from streamlit.testing.v1 import AppTest

from pages.stores import own_weights
from tests.pages.conftest import OpenApp, captions, put_shipped
from tests.pages.test_own_weights import send
from vitviz.analysis.image_means import SHARE, ImageMeans
from vitviz.experiments import image_sets
from vitviz.models.presets import PRESETS
from vitviz.models.zoo import create_model

ATTENTION, PAIR = "pages/lenses/attention/page.py", "pages/lenses/two_images/page.py"
VIEWS = {
    "effective_tokens": (ATTENTION, {"attention__view": "look"}),
    "maps": (ATTENTION, {"attention__view": "methods"}),
    "faithfulness": (ATTENTION, {"attention__view": "truth"}),
    "patching": (PAIR, {"two_images__view": "patching"}),
    "matches": (PAIR, {"two_images__view": "match"}),
}
INTERVAL = re.compile(r"([−\d.]+)\D*\(95\s%\sinterval ([−\d.]+) to ([−\d.]+)\)")


@pytest.fixture(scope="module")
def own() -> bytes:
    """Weights in timm's names, as another project stores them."""
    return save(create_model(replace(PRESETS["vit_cifar10"].config, depth=2), seed=7).state_dict())


@pytest.fixture
def shipped(no_shipped_checkpoints: Path) -> str:
    put_shipped(no_shipped_checkpoints, "digits_vit")
    return "checkpoint:digits_vit"


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("vitviz.probe.image_sets.RANDOM_DRAWS", 3)
    yield
    own_weights.STORE.entries.clear()


def buttons(app: AppTest) -> list[Any]:
    return [button for button in app.main.button if button.key.startswith("image_sets.")]


def wait_for_set(app: AppTest) -> str:
    while "Over " not in captions(app):  # pytest's own limit ends it
        assert not app.exception
        time.sleep(0.2)
        app.run()
    return captions(app)


@pytest.mark.slow
@pytest.mark.parametrize("measure", VIEWS)
def test_an_own_model_is_described_on_this_image_until_it_is_measured(
    open_app: OpenApp, own: bytes, measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 6 if measure == "faithfulness" else 32
    monkeypatch.setattr(image_sets, "IMAGES", count)
    page, view = VIEWS[measure]
    app = send(open_app(page, image="cifar10-few:3", **view), own)
    assert not app.exception, [error.message for error in app.exception]
    here = "these two images" if page == PAIR else "this image"
    assert f"Measured on {here} only." in captions(app) and "interval" not in captions(app)
    (button,) = buttons(app)
    assert button.label == f"Measure on {count} images"
    button.click().run()
    text = wait_for_set(app)
    assert not buttons(app) and f"Measured on {here} only." not in text
    found = INTERVAL.search(text)
    assert found is not None, text
    mean, low, high = (float(number.replace("−", "-")) for number in found.groups())
    assert low <= mean <= high and re.search(
        rf"Over {count} (images of CIFAR-10 \(sample\)|pairs of images)", text
    )
    if measure == "maps":
        model = own_weights.get_model(str(app.sidebar.selectbox(key="model").value))
        means = finish(image_sets.measure(model, measure, "cifar10-few", 32)).select(SHARE)
        assert mean == pytest.approx(100 * max(means.means), abs=0.51)


def finish(work: Generator[float, None, ImageMeans]) -> ImageMeans:
    while True:
        try:
            next(work)
        except StopIteration as stop:
            means: ImageMeans = stop.value
            return means


@pytest.mark.parametrize("measure", VIEWS)
def test_a_shipped_model_is_described_by_what_is_stored(
    open_app: OpenApp, shipped: str, measure: str
) -> None:
    page, view = VIEWS[measure]
    app = open_app(page, model=shipped, image="digits:0", **view)
    assert not buttons(app) and "only." not in captions(app)
    assert INTERVAL.search(captions(app)) and "Over 200 " in captions(app)


def test_another_step_of_a_shipped_model_has_the_button(open_app: OpenApp, shipped: str) -> None:
    app = open_app(ATTENTION, model=shipped, image="digits:0", step="107", attention__view="methods")
    assert len(buttons(app)) == 1 and "On this image, AttnLRP is the most concentrated" in captions(app)


def test_a_failed_measure_offers_the_button_again(
    open_app: OpenApp, shipped: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> Generator[float, None, ImageMeans]:
        yield 0.5
        raise ValueError("a dataset that was deleted")

    monkeypatch.setattr(image_sets, "measure", fail)
    app = open_app(ATTENTION, model=shipped, image="digits:0", step="234", attention__view="methods")
    with caplog.at_level(logging.CRITICAL):
        buttons(app)[0].click().run()
        while not app.warning:
            assert not app.exception
            time.sleep(0.2)
            app.run()
    app.run()
    assert len(buttons(app)) == 1
