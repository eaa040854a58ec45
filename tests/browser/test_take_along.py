"""'Download page (HTML)' on every lens: the file opens from the disk with every view drawn, and makes no request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pages.stores.registry import PAGES
from tests.browser.test_axe import found
from tests.rows import rows

pytestmark = pytest.mark.browser
LENSES = [
    *(entry.slug for entry in PAGES if entry.folder.startswith(("lenses", "start"))),
    "which_model",
]


@pytest.mark.slow
@pytest.mark.parametrize("slug", rows(LENSES, lambda slug: slug in ("home", "attention", "patches")))
def test_a_page_is_taken_along(open_page: Callable[..., Page], slug: str, tmp_path: Path) -> None:
    begins = {
        "home": "",
        "attention": "attention?model=checkpoint:cifar10_vit&attention.layer=2&attention.head=3&attention.style=dim",
    }
    page = open_page(begins.get(slug, slug))
    if slug == "two_images":
        page.get_by_role("button", name="Your second image").click()
        expect(page.locator("[data-component=second_image_pad]")).to_be_visible()
        page.keyboard.press("Escape")
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Download page (HTML)").click()
    file = tmp_path / f"{slug}.html"
    download.value.save_as(file)
    assert file.stat().st_size < 2.5e6
    alone = page.context.new_page()
    wrong: list[str] = []
    alone.on("request", lambda one: wrong.append(one.url) if one.url.startswith("http") else None)
    alone.on("pageerror", lambda error: wrong.append(str(error)))
    alone.goto(file.as_uri())
    views = alone.locator("section > div > .vv")
    expect(views.first).to_be_attached()
    for view in views.all():
        expect(view).to_have_attribute("data-ready", "true")
    assert not alone.locator("[data-component$=pad]").count() or slug == "home"  # a dead pad
    if slug == "attention":
        expect(alone.locator(".el-bar")).to_contain_text("layer 2 of")
        for label, chosen in (("Head", "3"), ("Style", "dim")):
            expect(alone.get_by_label(label, exact=True)).to_have_value(chosen)
        expect(alone.locator("main > p").first).to_contain_text("CIFAR-10 ViT, patch 4, step ")
    assert alone.locator("main canvas, main svg, main table, main [role=table]").count()
    assert wrong == [] and found(alone) == []
    alone.close()
