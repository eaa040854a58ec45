"""The explorer as one HTML file in Firefox, from the disk: hover, pin, layers, heads, play and both themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import vitviz
from tests.browser import firefox
from tests.browser.firefox import Firefox
from vitviz.data import drawings
from vitviz.view import View

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(firefox.PATH is None, reason="no Firefox on this machine"),
]
READY = "!!document.querySelector('.vv[data-component=explorer_live][data-ready=true]')"
NAME = "document.querySelector('.ax-name span').textContent"
LAYER = "document.querySelector('[aria-label=Layer]').value"
WEIGHT = (
    "[...document.querySelectorAll('.ax-inspector tr')]"
    ".find(row => row.textContent.startsWith('weight')).querySelector('td').textContent"
)


@pytest.fixture(scope="module", params=["cifar10_vit", "cifar10_swin"])
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Firefox, View]]:
    """The file of a model, open; an error in its console or a request fails the last test."""
    folder: Path = tmp_path_factory.mktemp("firefox")
    pixels = np.random.default_rng(0).integers(0, 255, (48, 48, 3), dtype=np.uint8)
    view = vitviz.inspect(request.param, pixels)
    file = view.save(folder / "attention.html", query=(2, 2))
    with firefox.running(folder) as tab:
        tab.open(file.as_uri(), 1100, 1000)
        tab.wait(READY, True)
        yield tab, view
        assert tab.list_faults() == []


def point(tab: Firefox, view: View, row: int, col: int, *, click: bool = False) -> None:
    rows, cols = view.attention(-1).shape
    tab.touch("document.querySelector('.ax-stage')", ((col + 0.5) / cols, (row + 0.5) / rows), click=click)


def test_a_hover_shows_the_weights_of_the_patch(opened: tuple[Firefox, View]) -> None:
    tab, view = opened
    point(tab, view, 5, 3)
    tab.wait(f"{NAME}.includes('row 6, column 4')", True)
    assert float(tab.read(WEIGHT)) == pytest.approx(view.attention(-1, "mean", (5, 3)).max(), abs=0.004)


def test_a_pin_stays_while_the_layers_play(opened: tuple[Firefox, View]) -> None:
    tab, view = opened
    point(tab, view, 0, 1, click=True)
    tab.point((1, 1))
    tab.wait(f"{NAME}.includes('row 1, column 2')", True)
    tab.wait("document.querySelector('.ax-inspector > .vv-muted').textContent.includes('pinned')", True)
    tab.click("Play")
    tab.wait(LAYER, "5", 30)
    tab.wait(f"{NAME}.includes('row 1, column 2')", True)


def test_the_theme_changes_the_ground(opened: tuple[Firefox, View]) -> None:
    tab, _ = opened
    ground = "getComputedStyle(document.body).backgroundColor"
    before = tab.read(ground)
    tab.click("Use the")
    tab.wait(f"{ground} !== {before!r}", True)


def test_a_drawing_changes_attention_and_class_as_python_says(tmp_path: Path) -> None:
    file = vitviz.inspect("digits_vit", np.zeros((28, 28), np.uint8)).save(tmp_path / "model.html")
    root = "document.querySelector('.vv[data-component=explorer_live]')"
    with firefox.running(tmp_path) as tab:
        tab.open(file.as_uri(), 390, 844)
        tab.wait(f"{root}.dataset.started", "true")
        tab.touch("document.querySelector('canvas.vv-pad')", (0.3, 0.2), (0.7, 0.2), (0.45, 0.85))
        tab.wait(
            f"(({root}.dataset.strokes ?? '').length % 3 === 0) && {root}.dataset.strokes.length > 0", True
        )
        tab.wait("named('Undo') !== undefined", True)
        view = vitviz.inspect("digits_vit", drawings.draw_strokes(tab.read(f"{root}.dataset.strokes")))
        name, share = view.prediction[0]
        text = f"Predicted class: {name}, {100 * share:.1f}\N{NO-BREAK SPACE}%"
        tab.wait("document.querySelector('.cb-head').textContent", text)
        tab.wait(f"Math.abs({WEIGHT} - {view.attention(-1).max()}) < 0.002", True)
        assert tab.list_faults() == []
