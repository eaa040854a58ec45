"""The image stands above the fold on a small screen: at 150 % zoom of 1280 × 800, and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage, lead, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PHOTO = "model=checkpoint:cifar10_hybrid&image=sample:cat"
ADDRESSES = {  # by the view that is the page's first image; what comes first is shown of the model of a first session
    "filters": "tiles_view",
    "positions": "similarity_view",
    "block": "block_view",
    "layers": "colours",
    "two_images": "match",
    "on_your_picture": "sweep_view",
    "swin": "swin_stepper",
    "live_lab": "timeline",
    "attention_distance": "head_distance",
    f"attention?{PHOTO}": "explorer",
    f"attention?{PHOTO}&attention.view=methods": "heat_grid",
    f"attention?{PHOTO}&attention.view=ablate": "ablation_view",
}

TOP = """node => node.getBoundingClientRect().top
  + document.querySelector('[data-testid=stMain]').scrollTop"""
BOTTOM_OF_TEXT = """node => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return Math.max(...[...range.getClientRects()].filter((box) => box.width > 40).map((box) => box.bottom));
}"""


@pytest.mark.slow  # every page
@pytest.mark.parametrize(("width", "height", "highest"), [(853, 533, 480), (390, 844, 620)])
def test_the_image_begins_above_the_fold(open_page: OpenPage, width: int, height: int, highest: int) -> None:
    page = open_page("words", width=width, height=height)
    found = {}
    for address, name in ADDRESSES.items():
        lead(page, address)
        view = page.locator(f"[data-component={name}]").first
        expect(view).to_have_attribute("data-ready", "true", timeout=60_000)
        found[address] = view.locator("canvas").first.evaluate(TOP)
    assert all(top <= highest for top in found.values()), {key: round(top) for key, top in found.items()}


def test_most_of_the_image_whose_attention_is_asked_stands_above_the_fold(open_page: OpenPage) -> None:
    page = open_page(f"attention?{PHOTO}", width=853, height=640)
    view = page.locator("[data-component=explorer]").first
    expect(view).to_have_attribute("data-ready", "true")
    wait_for(
        page, view.locator(".ax-stage").bounding_box, lambda box: (640 - box["y"]) / box["height"] > 0.66
    )


def test_the_title_lies_over_nothing(open_page: OpenPage) -> None:
    page = open_page("positions")
    # Both in one look, once the fonts and the page's own style have come: what is between them moves until then.
    page.wait_for_function(f"""() => {{
      const title = ({BOTTOM_OF_TEXT})(document.querySelector('[data-testid=stMain] h1'));
      const question = document.querySelector('[data-testid=stMain] [data-testid=stMarkdown] p');
      const heading = document.querySelector('[data-testid=stMain] h1').getBoundingClientRect();
      const box = question.getBoundingClientRect();
      const apart = box.top - title; // a line's box ends below its letters
      return (apart >= -4 && apart <= 16) || (box.left >= heading.right && box.bottom <= title + 16);
    }}""")
