"""The explorer as one HTML file, opened from the disk: hover, pin, layers, heads, play and both themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import vitviz
from tests.browser.conftest import wait_for
from tests.browser.test_axe import found
from tests.rows import rows
from vitviz.view import View

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=rows(["cifar10_vit", "cifar10_swin"], "cifar10_vit".__eq__))
def view(request: pytest.FixtureRequest) -> View:
    pixels = np.random.default_rng(0).integers(0, 255, (48, 48, 3), dtype=np.uint8)
    return vitviz.inspect(request.param, pixels)


@pytest.fixture
def page(browser: Browser, view: View, tmp_path: Path) -> Iterator[Page]:
    """The file, opened without a network; any request or error fails."""
    file = view.save(tmp_path / "attention.html", query=(2, 2))
    assert file.stat().st_size < 2.5e6
    fresh = browser.new_page(viewport={"width": 1100, "height": 1000})
    wrong: list[str] = []
    fresh.on("request", lambda one: wrong.append(one.url) if one.url.startswith("http") else None)
    fresh.on("pageerror", lambda error: wrong.append(str(error)))
    fresh.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    fresh.goto(file.as_uri())
    expect(fresh.locator(".vv[data-component=explorer_live][data-ready=true]")).to_be_visible()
    yield fresh
    fresh.close()
    assert wrong == []


@pytest.mark.slow
def test_a_damaged_or_incomplete_file_says_so(browser: Browser, view: View, tmp_path: Path) -> None:
    whole = view.save(tmp_path / "attention.html").read_text("utf-8")
    before, mark, message = whole.partition("data-message>")
    (tmp_path / "damaged.html").write_text(f"{before}{mark}{'A' * 99}{message[99:]}")
    (tmp_path / "cut.html").write_text(whole[: len(whole) // 2])
    for name, words in (("damaged", "are damaged"), ("cut", "incomplete or damaged")):
        page = browser.new_page()
        page.goto((tmp_path / f"{name}.html").as_uri())
        expect(page.get_by_text(words)).to_be_visible()
        page.close()


def facts(page: Page) -> dict[str, str]:
    """The inspector's table."""
    rows = page.locator(".ax-inspector tr")
    return {row.locator("th").inner_text(): row.locator("td").inner_text() for row in rows.all()}


def weight(page: Page) -> float:
    return float(facts(page)["weight"])


def hover(page: Page, view: View, row: int, col: int) -> None:
    box = page.locator(".ax-stage").bounding_box()
    assert box
    rows, cols = view.attention(-1).shape
    page.mouse.move(
        box["x"] + box["width"] * (col + 0.5) / cols, box["y"] + box["height"] * (row + 0.5) / rows
    )


def test_a_hover_shows_the_weights_of_every_layer_and_head(page: Page, view: View) -> None:
    prefix = len(view.layout.prefix)
    hover(page, view, 5, 3)
    name = page.locator(".ax-name span")
    expect(name).to_contain_text("row 6, column 4")
    strongest = view.attention(-1, "mean", (5, 3)).max()
    wait_for(page, lambda: weight(page), lambda found: abs(found - strongest) <= 0.004)
    page.get_by_role("button", name="head 2").click()
    page.get_by_role("button", name="layer 4", exact=True).click()
    expect(page.get_by_label("Layer", exact=True)).to_have_value("3")
    hover(page, view, 5, 3)
    expect(page.locator(".ax-inspector > .vv-muted")).to_contain_text("head 2")
    expect(name).to_contain_text("row 6, column 4")
    token = view.attention(3, 1, prefix + 5 * view.attention(3).shape[1] + 3)
    wait_for(page, lambda: weight(page), lambda found: abs(found - token.max()) <= 0.004)


@pytest.mark.slow
def test_a_pin_stays_through_layers_and_play_ends_at_the_last(page: Page, view: View) -> None:
    expect(page.locator(".ax-name span")).to_contain_text("row 3, column 3")  # as it was saved
    hover(page, view, 0, 1)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(0, 0)
    expect(page.locator(".ax-name span")).to_contain_text("row 1, column 2")
    expect(page.locator(".ax-inspector > .vv-muted")).to_contain_text("pinned")
    page.get_by_role("button", name="Play").click()
    layers = page.get_by_label("Layer", exact=True)
    expect(layers).to_have_value("0")
    expect(layers).to_have_value("5")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".ax-name span")).to_contain_text("row 1, column 2")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_are_for_everyone(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    other = {"light": "dark", "dark": "light"}[scheme]
    switch = page.get_by_role("button", name=f"Use the {other} theme")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    assert found(page) == []
    switch.click()
    expect(page.get_by_role("button", name=f"Use the {scheme} theme")).to_be_visible()
    assert page.evaluate(ground) != before and found(page) == []


def test_style_and_head_are_chosen_without_a_server(page: Page) -> None:
    page.get_by_label("Head", exact=True).select_option("max")
    expect(page.locator(".ax-inspector > .vv-muted")).to_contain_text("max over heads")
    page.get_by_label("Style").select_option("heat")
    expect(page.locator(".vv[data-style=heat]")).to_be_visible()
