"""Measure how long the main column holds no picture while a user goes from page to page, section, step and image.

    python benchmarks/kept_picture.py [--fresh] [--pages patches filters]

Counts, frame by frame in Chromium, the time in which neither the old picture, its dimmed copy
(pages/frame/kept_picture.js), an outline nor the new picture stands there. Eleven pages are opened by the menu; then
all sections of two pages, two steps and two images. --fresh does not open the pages beforehand. Exits with 1 if the
picture is missing for more than 150 ms at any step.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pages.stores import registry  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path, free_port, settle, start_server, stop_server  # noqa: E402

WALK = "patches filters positions block attention layers two_images swin studies lessons home".split()
SECTIONS = (  # with a small model
    "attention?model=checkpoint:digits_vit&image=digits:77",
    "two_images?model=checkpoint:cifar10_vit&image=cifar10-few:118",
)
LIMIT_MS = 150
# Per frame: its time, and whether a picture stands; a page without any counts from its title on.
WATCH = """() => {
  window.frames_seen = [];
  const stands = () => {
    if (document.querySelector('body > div[inert][aria-hidden]')) return true;
    const main = document.querySelector('[data-testid=stMain]');
    const places = [...main.querySelectorAll('[data-testid=stElementContainer]')];
    const open = places.filter((place) => place.clientHeight > 60 && place.querySelector('[data-testid^=stBidi]'));
    if (open.length) return open.some((place) => place.dataset.drawn || place.querySelector('[data-outline]'));
    const outlines = [...main.querySelectorAll('svg, img')].some((node) => node.clientHeight > 60);
    return outlines || main.querySelectorAll('h1').length > 0 && main.innerText.length > 200;
  };
  const look = (time) => {
    window.frames_seen.push([time, stands()]);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
TITLE_CHANGED = "before => ![before, undefined].includes(document.querySelector('h1')?.innerText)"


def measure(page: Page, act: Callable[[], object]) -> float:
    """Act, wait for the new picture, and return the time without a picture in ms."""
    page.evaluate("window.frames_seen.length = 0")
    act()
    settle(page)
    frames: list[tuple[float, bool]] = page.evaluate("window.frames_seen")
    return sum(
        later - time for (time, stands), (later, _) in zip(frames, frames[1:], strict=False) if not stands
    )


def open_page(page: Page, slug: str) -> None:
    """Go to a page by the menu."""
    entry = registry.BY_SLUG[slug]
    before = page.locator("h1").first.inner_text()
    page.locator('[data-testid="stTopNavSection"]').filter(has_text=entry.group).first.click()
    page.locator('[data-testid="stTopNavDropdownLink"]').get_by_text(entry.title, exact=True).click()
    page.wait_for_function(TITLE_CHANGED, arg=before)


def list_actions(page: Page) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what a user does on a page, with its name: every section, then two steps and two images."""
    sections = page.locator('[data-testid="stMain"] [class*="-view"] [data-testid="stButtonGroup"] button')
    for section in [*sections.all()[1:], sections.first]:
        yield section.inner_text(), partial(act_and_wait, page, section.click)
    sidebar = page.get_by_test_id("stSidebar")
    for _ in range(2):
        yield (
            "step",
            partial(act_and_wait, page, partial(sidebar.get_by_label("Step").last.press, "ArrowLeft")),
        )
        yield "image", partial(act_and_wait, page, sidebar.get_by_test_id("stNumberInputStepUp").click)


def act_and_wait(page: Page, act: Callable[[], object]) -> None:
    """Act and wait until a run can have begun."""
    act()
    page.wait_for_timeout(300)


def main(options: argparse.Namespace) -> int:
    port = free_port()
    log = Path(tempfile.mkdtemp(prefix="kept-")) / "server.log"
    server = start_server("app.py", port, log)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            for slug in [] if options.fresh else options.pages:
                page.goto(f"http://127.0.0.1:{port}/{'' if slug == 'home' else slug}")
                settle(page)
            page.goto(f"http://127.0.0.1:{port}/")
            settle(page)
            page.evaluate(WATCH)
            missing = {slug: measure(page, partial(open_page, page, slug)) for slug in options.pages}
            for address in options.sections:
                page.goto(f"http://127.0.0.1:{port}/{address}")
                settle(page)
                page.evaluate(WATCH)
                for name, act in list_actions(page):
                    missing[f"{address.partition('?')[0]}: {name}"] = measure(page, act)
            browser.close()
    finally:
        stop_server(server)
    for name, time in missing.items():
        print(f"{name:32} {time:6.0f} ms without a picture")
    worst = max(missing.values())
    print(f"worst step: {worst:.0f} ms, limit {options.limit} ms")
    return int(worst > options.limit)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", nargs="+", default=WALK)
    parser.add_argument("--sections", nargs="*", default=SECTIONS)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT_MS, help="ms")
    sys.exit(main(parser.parse_args()))
