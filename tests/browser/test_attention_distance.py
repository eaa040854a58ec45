"""The attention distance page with pointer, keys and the slider over training."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_heads_follow_pointer_and_keys(open_page: Callable[..., Page]) -> None:
    page = open_page("attention_distance?model=preset:vit_digits&attention_distance.count=4")
    view = page.locator('[data-component="head_distance"]')
    title = view.locator(".hd-title")
    expect(title).to_contain_text("Layer 1, head 1")
    plot = view.locator(".hd-plot canvas")
    plot.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    expect(title).to_contain_text("Layer 2, head 2")
    expect(view.locator(".hd-note")).to_have_text(
        re.compile(r"^1[56]\.\d px away on average \(± 0\.\d\d: 95\s% interval over 4 images\)\. ")
    )
    page.keyboard.press("Enter")  # pins the head: the detail below follows
    expect(page.get_by_label("Layer", exact=True)).to_have_value("2")
    expect(page.get_by_label("Head", exact=True)).to_have_value("2")
    page.set_viewport_size(
        {"width": 1010, "height": 900}
    )  # as beside a lesson: too narrow for the map at its side
    page.wait_for_function(
        """() => {
          const stage = [...document.querySelectorAll('[data-testid=stMain] *')]
            .flatMap((node) => [...(node.shadowRoot?.querySelectorAll('.hd-stage') ?? [])])[0];
          const room = stage.clientWidth;
          return room > 640 && room < 683 && stage.querySelector('.hd-plot canvas').clientWidth > 0.9 * room;
        }"""
    )


def test_a_shipped_model_is_dragged_through_training(open_page: Callable[..., Page]) -> None:
    page = open_page("attention_distance?model=checkpoint:digits_vit&attention_distance.count=4")
    view = page.locator('[data-component="head_distance"]')
    step = view.locator(".hd-time > span")
    expect(step).not_to_have_text("step 0")
    note = view.locator(".hd-note")
    last = note.inner_text()
    slider = view.get_by_label("Training step")
    slider.wait_for(timeout=90_000)  # the training is measured after the first plot
    slider.focus()
    page.keyboard.press("Home")
    expect(step).to_have_text("step 0")
    expect(note).not_to_have_text(last)
    expect(view.locator(".hd-title")).to_have_text("Layer 1, head 1 · step 0")


COLOURED = """canvas => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [red, green, blue, alpha] = data.subarray(i, i + 4);
    if (alpha && Math.max(red, green, blue) - Math.min(red, green, blue) > 80) found++;
  }
  return found;
}"""


def test_a_swins_stages_have_different_numbers_of_heads(open_page: Callable[..., Page]) -> None:
    page = open_page("attention_distance?model=preset:swin_digits&attention_distance.count=4")
    view = page.locator('[data-component="head_distance"]')
    plot = view.locator(".hd-plot canvas")
    expect(view.locator(".hd-note")).to_contain_text("px away on average (±")
    assert plot.evaluate(COLOURED) > 12 * 40  # two blocks of 2 heads and two of 4, a dot has about 80 pixels
    plot.focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    expect(view.locator(".hd-title")).to_contain_text("Layer 1, head 2")  # the first stage has two
    expect(view.locator(".hd-note")).not_to_contain_text("NaN")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
    expect(view.locator(".hd-title")).to_contain_text("Layer 4, head 4")
