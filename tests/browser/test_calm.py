"""Nothing moves by itself where the user asks for no motion; what can be played goes from station to station."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SLOWED, OpenPage, settle
from tests.browser.test_kept_picture import PATIENT
from tests.rows import rows

pytestmark = pytest.mark.browser
# Of every part of every view: how long its changes of style take.
SLOW = """() => {
  const found = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      const { transitionDuration, animationName } = getComputedStyle(node);
      const inView = node.closest('.vv[data-component]');
      if (inView && (/[1-9]/.test(transitionDuration) || animationName !== 'none')) found.push(node.className);
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document);
  return found;
}"""


SECOND_STATION = """(map) => {
  const slider = map.querySelector('[aria-label="Step of the animation"]');
  for (const _ of [1, 2]) slider.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
  return Number(slider.value);
}"""  # where the journey stands right after two clicks


def film(page: Page) -> tuple[object, object]:
    """The button that plays the lab's recording, and the slider of its moment."""
    view = page.locator('[data-component="timeline"]')
    return view.locator("button", has_text="▶ Play").or_(
        view.locator("button", has_text="❚❚ Pause")
    ), view.locator(".timeline-track")


@pytest.mark.slow
@pytest.mark.parametrize("calm", rows([False, True], bool))
def test_a_recording_plays_by_itself_for_who_wants_motion(open_page: OpenPage, calm: bool) -> None:
    page = open_page("words", locale="en-GB", reduced_motion="reduce" if calm else "no-preference")
    page.add_init_script(f"({PATIENT})()")  # the recording is not over before it is looked at
    page.goto(page.url.replace("/words", "/live_lab"))
    settle(page)
    play, track = film(page)
    expect(track).to_be_enabled()
    expect(play).to_have_text("▶ Play" if calm else "❚❚ Pause")
    # All of it stands there, or it has begun at its first moment.
    assert track.evaluate("(node) => node.value === node.max") == calm
    if calm:
        assert page.evaluate(SLOW) == []
        page.evaluate(SLOWED, 8)
        last = track.get_attribute("max") or ""
        play.click()
        expect(play).to_have_text("❚❚ Pause")
        expect(track).not_to_have_value(last)


@pytest.mark.parametrize("calm", rows([False, True], lambda calm: not calm))
def test_the_map_fades_for_who_wants_motion(open_page: OpenPage, calm: bool) -> None:
    page = open_page("", reduced_motion="reduce" if calm else "no-preference")
    # It may be mounted after the script's end.
    view = page.locator('[data-component="map"][data-ready="true"]')
    view.wait_for()
    assert bool(page.evaluate(SLOW)) == (not calm)
    expect(page.get_by_role("button", name="▶ Play", exact=True)).to_be_visible(visible=not calm)
    assert (view.evaluate(SECOND_STATION) == 2) == calm
    expect(view.locator(".mp-said")).not_to_be_empty()
