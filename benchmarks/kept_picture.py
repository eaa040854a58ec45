"""Measure how long the main column holds no picture while a user walks through eleven pages by the menu.

    python benchmarks/kept_picture.py [--fresh] [--pages patches filters]

Counts, frame by frame in Chromium, the time in which neither the old picture, its dimmed copy
(pages/frame/kept_picture.js), an outline nor the new picture stands there. --fresh does not open the pages beforehand.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pages.frame import registry  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path, free_port, settle, start_server, stop_server  # noqa: E402

WALK = "patches filters positions block attention layers two_images swin studies lessons home".split()
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


def go(page: Page, slug: str) -> float:
    """Go to a page by the menu; return the time without a picture in ms."""
    entry = registry.BY_SLUG[slug]
    page.locator('[data-testid="stTopNavSection"]').filter(has_text=entry.group).first.click()
    link = page.locator('[data-testid="stTopNavDropdownLink"]').get_by_text(entry.title, exact=True)
    before = page.locator("h1").first.inner_text()
    page.evaluate("window.frames_seen.length = 0")
    link.click()
    page.wait_for_function(TITLE_CHANGED, arg=before)
    settle(page)
    frames = page.evaluate("window.frames_seen")
    return sum(
        later - time for (time, stands), (later, _) in zip(frames, frames[1:], strict=False) if not stands
    )


def main(options: argparse.Namespace) -> None:
    port, worst = free_port(), 0.0
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
            for slug in options.pages:
                missing = go(page, slug)
                worst = max(worst, missing)
                print(f"{slug:12} {missing:6.0f} ms without a picture", flush=True)
            browser.close()
    finally:
        stop_server(server)
    print(f"worst step: {worst:.0f} ms, limit {LIMIT_MS} ms")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", nargs="+", default=WALK)
    parser.add_argument("--fresh", action="store_true")
    main(parser.parse_args())
