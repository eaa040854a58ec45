"""An ablation survives a reload and a change of view, and is part of the link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage, settle

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
ADDRESS = "attention?model=preset:vit_digits&image=digits:0&attention.view=ablate"


def left_out(page: Page, patches: int, heads: int) -> None:
    """Expect these counts in the view and in the caption."""
    view = page.locator("[data-component=ablation_view]")
    expect(view).to_have_attribute("data-patches", str(patches))
    expect(view).to_have_attribute("data-heads", str(heads))
    main = page.locator('[data-testid="stMain"]')
    expect(main).to_contain_text(f"Without {patches} of 64 patches and {heads} of 16 heads")


def paint(page: Page) -> None:
    view = page.locator("[data-component=ablation_view]")
    stage = view.locator(".aa-stage")
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 10, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 10, steps=24)
    page.mouse.up()
    view.get_by_role("button", name="layer 2", exact=True).click()
    left_out(page, 8, 4)


@pytest.mark.slow
def test_what_is_left_out_survives_a_reload_a_change_of_view_and_a_link(open_page: OpenPage) -> None:
    page = open_page(ADDRESS)
    view = page.locator("[data-component=ablation_view]")
    expect(view).to_contain_text("Drag over the image to ablate patches")
    paint(page)
    expect(view).to_contain_text("8 of 64 patches, 4 of 16 heads")
    page.wait_for_url(re.compile(r"left_out=64\._D\.16\.wD(&|$)"))
    assert len(page.url) < 2000
    page.reload()
    settle(page)
    left_out(page, 8, 4)
    view.get_by_role("button", name="layer 1", exact=True).click()  # goes on from there
    left_out(page, 8, 8)
    view.get_by_role("button", name="Undo").click()
    left_out(page, 8, 4)
    page.get_by_role("radio", name="Attention maps", exact=True).click()
    expect(page.locator("[data-component=explorer]")).to_have_attribute("data-ready", "true")
    page.get_by_role("radio", name="Ablation").click()
    left_out(page, 8, 4)
    address = page.url.partition("/attention?")[2]
    somebody = open_page(f"attention?{address}", locale="en-GB")
    left_out(somebody, 8, 4)
    view.get_by_role("button", name="Restore all").click()
    expect(page.locator('[data-testid="stMain"]')).to_contain_text("The complete model predicts")


def rows(page: Page) -> list[tuple[str, float]]:
    """Return the classes of the bars after the ablation with their probabilities in percent."""
    bars = page.locator("[data-component=bars]")
    names = bars.locator("[role=rowheader]").all_inner_texts()
    values = bars.locator(".ab-row > .ab-value:nth-child(3)").all_inner_texts()
    return [(name, float(value.split()[0])) for name, value in zip(names, values, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("hiding", ["hidden", "blanked"])
def test_the_probabilities_follow_the_pointer_and_equal_the_server_s(
    open_page: OpenPage, hiding: str
) -> None:
    page = open_page(f"{ADDRESS}&attention.hiding={hiding}")
    bars = page.locator("[data-component=bars]")
    stage = page.locator("[data-component=ablation_view] .aa-stage")
    stage.scroll_into_view_if_needed()
    complete = rows(page)
    box = stage.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    expect(bars).to_have_attribute("data-live", re.compile("."))
    first = bars.get_attribute("data-live")
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"], steps=8)
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=8)
    assert first is not None
    # The pointer is still down: the server knows nothing.
    view = page.locator("[data-component=ablation_view]")
    expect(view).to_have_attribute("data-live", view.get_attribute("data-patches") or "none")
    last = bars.get_attribute("data-live")
    assert last and last != first
    expect(page.locator('[data-testid="stMain"]')).to_have_attribute("data-behind", "")
    page.mouse.up()
    expect(page.locator('[data-testid="stMain"]')).to_contain_text(re.compile(r"Without \d+ of 64 patches"))
    expect(page.locator('[data-testid="stMain"]')).not_to_have_attribute("data-behind", "")
    settle(page)
    server = rows(page)
    live = last.split("; ")
    assert [name for name, _ in server] == [each.rpartition(" ")[0] for each in live]
    for (_, percent), each in zip(server, live, strict=True):
        assert percent == pytest.approx(100 * float(each.rpartition(" ")[2]), abs=0.06)
    view.get_by_role("button", name="Undo").click()
    expect(page.locator('[data-testid="stMain"]')).not_to_contain_text(
        re.compile(r"Without \d+ of 64 patches")
    )
    settle(page)
    again = rows(page)
    assert [name for name, _ in again] == [name for name, _ in complete] and again != server
    for (_, percent), (_, before) in zip(again, complete, strict=True):
        assert percent == pytest.approx(before, abs=0.11)  # the browser and the server may round apart
