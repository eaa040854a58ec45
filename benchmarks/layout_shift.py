"""Measure each page's layout shift while it opens and while another section is selected, in Chromium.

    python benchmarks/layout_shift.py [--phone] [--pages attention swin] [--keep]

Sums the browser's layout shifts (web.dev/cls), without its tolerance of half a second after a click. Every page and
study is opened by a browser without a cache. --keep writes the heights of widgets and views to
pages/streamlit_fixes/required/view_heights.json, which a first visit reserves.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.first_screen import HEIGHT_PX, WIDTH_PX, list_addresses  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path, free_port, settle, start_server, stop_server  # noqa: E402

HEIGHTS = ROOT / "pages/streamlit_fixes/required/view_heights.json"
WIDE = {"viewport": {"width": WIDTH_PX, "height": HEIGHT_PX}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
PHONE["user_agent"] = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
PHONE["extra_http_headers"] = {"Sec-CH-UA-Mobile": "?1"}
WATCH = """() => {
  window.moves = [];
  const name = (node) => (node?.nodeType === 1 ? node : node?.parentElement)?.closest('[class*=st-key-]')
    ?.className.match(/st-key-\\S+/)?.[0] ?? node?.textContent?.trim().slice(0, 30);
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      window.moves.push([value, sources.map(({ node, previousRect, currentRect }) =>
        `${name(node)} ${Math.round(previousRect.top)}>${Math.round(currentRect.top)}`).join(', ')]);
  }).observe({ type: 'layout-shift', buffered: true });
}"""
SKELETON_PX = 38  # where nothing is reserved
ELEMENTS = """() => Object.fromEntries(
  [...document.querySelectorAll('[data-testid=stElementContainer][class*=st-key-]')]
  .filter((box) => box.checkVisibility() && box.getBoundingClientRect().right > 0) // not in a closed sidebar
  .map((box) => [box.className.match(/st-key-(\\S+)/)?.[1], Math.round(box.getBoundingClientRect().height)]))"""
SECTIONS = '[data-testid="stMain"] [class*="-view"] [data-testid="stButtonGroup"] button'


def moved(page: Page) -> tuple[float, str]:
    """Return what has moved since it was last asked, and the largest move."""
    page.wait_for_timeout(1000)
    moves = page.evaluate("() => window.moves.splice(0)")
    return sum(value for value, _ in moves), max(moves, default=(0, ""))[1]


def visit(browser: Browser, address: str, screen: dict[str, object], heights: dict[str, int]) -> None:
    """Open a page, then each of its sections, and print the elements that move."""
    context = browser.new_context(**screen)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.add_init_script(f"({WATCH})()")
    page.goto(address)
    settle(page)
    total, largest = moved(page)
    print(
        f"{address.rpartition('/')[2] or 'home':22s} {total:.3f}  {largest if total > 0.05 else ''}",
        flush=True,
    )
    heights |= page.evaluate(ELEMENTS) | heights
    options = page.locator(SECTIONS)
    for number in range(1, options.count() if "?" not in address else 0):
        title = options.nth(number).inner_text()
        options.nth(number).click()
        page.wait_for_timeout(300)
        settle(page)
        total, largest = moved(page)
        print(f"    {title:18s} {total:.3f}  {largest if total > 0.05 else ''}", flush=True)
        heights |= page.evaluate(ELEMENTS) | heights
    context.close()


def main() -> None:
    """Open every page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--phone", action="store_true", help="on a screen of 390 px")
    parser.add_argument("--pages", nargs="*", default=list(list_addresses().values()))
    parser.add_argument("--keep", action="store_true", help="write the heights")
    asked = parser.parse_args()
    heights: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        port = free_port()
        server = start_server("app.py", port, Path(folder) / "server.log", {"VITVIZ_RUNS": f"{folder}/runs"})
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            for slug in asked.pages:
                address = f"http://127.0.0.1:{port}/{'' if slug == 'home' else slug}"
                visit(browser, address, PHONE if asked.phone else WIDE, heights)
        finally:
            browser.close()
            stop_server(server)
    if asked.keep:
        kept = json.loads(HEIGHTS.read_text("utf-8"))
        for key, height in heights.items():
            pair = kept.setdefault(key, [height, height])
            pair[int(asked.phone)] = height
        kept = {key: pair for key, pair in kept.items() if pair != [SKELETON_PX] * 2}
        HEIGHTS.write_text(
            "{\n" + ",\n".join(f'  "{key}": {kept[key]}' for key in sorted(kept)) + "\n}\n", "utf-8"
        )


if __name__ == "__main__":
    main()
