"""Measure each page's first screen at 1440 x 900: the figure's position and share, words, and smallest type.

    python benchmarks/first_screen.py [--small] [TITLE …]

Titles restrict the pages, --small to the first page; prints the table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import suppress
from math import isfinite
from pathlib import Path

from playwright.sync_api import Browser, TimeoutError, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))

from pages.stores.registry import PAGES  # noqa: E402
from pages.studies.study import list_studies  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path, free_port, start_server, stop_server  # noqa: E402

WIDTH_PX, HEIGHT_PX, DRAWN_MS = 1440, 900, 6000
PHONE_PX = 390, 844
PICTURES = "canvas, img, .plot-container"
MEASURE = """() => {
  const cells = new Uint8Array(360 * 225); // of 4 px: marks that overlap count once
  const [words, sizes] = [[], []];
  let top = Infinity;
  const visible = (box) => box.width > 0 && box.height > 0 && box.top < innerHeight && box.bottom > 0;
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      const range = document.createRange();
      range.selectNodeContents(node);
      if (!node.data.trim() || !visible(range.getBoundingClientRect())) return;
      if (!node.parentElement.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return;
      words.push(...node.data.split(/\\s+/).filter((word) => /[\\p{L}\\d]/u.test(word))); // no =, ·, ×
      return sizes.push(parseFloat(getComputedStyle(node.parentElement).fontSize));
    }
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    if (node.matches('style, script, .katex-mathml, [data-testid=stIconMaterial]')) return;
    const box = node.getBoundingClientRect();
    if (box.width === 1 && box.height === 1) return; // for screen readers alone
    if (node.matches('canvas, img, .plot-container') && box.width * box.height > 3600 && visible(box)) {
      top = Math.min(top, box.top);
      for (let y = Math.max(0, box.top >> 2); y < Math.min(225, box.bottom / 4); y++)
        cells.fill(1, y * 360 + (box.left >> 2), y * 360 + Math.min(360, box.right >> 2));
    }
    [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes].forEach(walk);
  };
  walk(document.querySelector('[data-testid="stMain"]'));
  return [top, cells.reduce((a, b) => a + b, 0) / cells.length, words.length, Math.min(...sizes)];
}"""


def list_addresses() -> dict[str, str]:
    """Return the address of every page and of every study by its title."""
    studies = {f"Study: {one.title}": f"studies?studies.study={one.name}" for one in list_studies().values()}
    return {entry.title: entry.slug for entry in PAGES} | studies


def measure(browser: Browser, address: str, width_px: int, height_px: int) -> list[float | None]:
    """Open a page in a new session; return what `MEASURE` does."""
    page = browser.new_page(viewport={"width": width_px, "height": height_px})
    page.goto(address)
    page.locator('[data-testid="stMain"] h1').wait_for(timeout=60_000)
    with suppress(TimeoutError):  # a page without a picture
        page.locator(f'[data-testid="stMain"] :is({PICTURES})').first.wait_for(timeout=20_000)
    page.wait_for_timeout(DRAWN_MS)
    measured: list[float | None] = page.evaluate(MEASURE)
    page.close()
    return measured


def print_table(browser: Browser, address: str, pages: dict[str, str]) -> None:
    """Print one row of a Markdown table per page."""
    print(f"First screen at {WIDTH_PX} × {HEIGHT_PX}; a canvas counts with its axes.\n")
    print(
        "| Page | Figure begins, px | Its share, % | Words | Smallest type, px | Figure begins on a phone, px |"
    )
    print("|---|---:|---:|---:|---:|---:|")
    for title, path in pages.items():
        top, share, words, size = measure(browser, f"{address}/{path}", WIDTH_PX, HEIGHT_PX)
        phone_top = measure(browser, f"{address}/{path}", *PHONE_PX)[0]
        begins, on_phone = (
            f"{at:.0f}" if at is not None and isfinite(at) else "none" for at in (top, phone_top)
        )
        row = (title, begins, f"{100 * (share or 0):.0f}", f"{words:.0f}", f"{size:.1f}", on_phone)
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Measure the pages of the command line in a server of this script's own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("titles", nargs="*", metavar="TITLE")
    parser.add_argument("--small", action="store_true", help="measure only the first page")
    args = parser.parse_args()
    pages = list_addresses()
    titles = list(pages)[:1] if args.small else args.titles or list(pages)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        port = free_port()
        env = {"VITVIZ_RUNS": f"{name}/runs", "VITVIZ_AHEAD": "0"}
        server = start_server("app.py", port, Path(name) / "server.log", env)
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            print_table(browser, f"http://127.0.0.1:{port}", {title: pages[title] for title in titles})
        finally:
            browser.close()
            stop_server(server)


if __name__ == "__main__":
    main()
