"""axe-core finds nothing on any page, in any view, with every drawer open, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Page

from pages.stores.registry import PAGES
from tests.browser.conftest import OpenPage, open_drawers, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(900)]
AXE = files("axe_playwright_python") / "axe.min.js"
FINDINGS = """async () => (await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa'] })).violations.map(
  ({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`
)"""


def found(page: Page) -> list[str]:
    """What axe says of the page as it stands; its rules look at what lies below the fold, too."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    returned: list[str] = page.evaluate(FINDINGS)
    return returned


def views_of(page: Page) -> Iterator[str]:
    """One view of the page after the other, by name, with every drawer open; the page's own name where it has one."""
    groups = page.locator(
        '[data-testid="stMain"] :not([class*="st-key-studies-card"]) > [data-testid="stButtonGroup"]'
    )
    views = groups.first.locator("button")
    for i, name in enumerate(views.all_inner_texts() or ["the page"]):
        if i and not views.nth(i).is_enabled():
            continue
        if i:
            views.nth(i).click()
            settle(page)
        open_drawers(page)
        yield name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("slug", [entry.slug for entry in PAGES])
def test_axe_finds_nothing(open_page: OpenPage, slug: str, scheme: str) -> None:
    page = open_page("" if slug == "home" else slug, height=1600, color_scheme=scheme)
    wrong = {view: found(page) for view in views_of(page)}
    assert not {view: returned for view, returned in wrong.items() if returned}


def test_axe_is_there_and_finds_what_is_wrong(open_page: OpenPage) -> None:
    page = open_page("words")
    page.evaluate(
        "() => document.querySelector('[data-testid=stMain]').insertAdjacentHTML('beforeend', '<img src=/x.png>')"
    )
    assert any(returned.startswith("image-alt") for returned in found(page))


def test_axe_finds_nothing_in_the_menu_of_a_phone(open_page: OpenPage) -> None:
    page = open_page("patches", width=390)
    assert found(page) == []
