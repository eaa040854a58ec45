"""Measure every page's first screen at 1440 x 900: where its picture begins, how much it covers, words, smallest type.

Against a running app: `python benchmarks/first_screen.py http://127.0.0.1:8501 > benchmarks/first_screen.md`
"""

from __future__ import annotations

import sys

from playwright.sync_api import sync_playwright

from pages.frame.registry import PAGES

WIDTH_PX, HEIGHT_PX, DRAWN_MS = 1440, 900, 6000
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
      words.push(...node.data.trim().split(/\\s+/));
      return sizes.push(parseFloat(getComputedStyle(node.parentElement).fontSize));
    }
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches('style, script, .vv-live, .katex-mathml')) return;
    const box = node.getBoundingClientRect();
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


def main(address: str) -> None:
    """Print one row of a Markdown table per page."""
    print(f"First screen at {WIDTH_PX} × {HEIGHT_PX}; a canvas counts whole, its axes included.\n")
    print("| Page | Picture begins, px | Share, % | Words | Smallest type, px |\n|---|---:|---:|---:|---:|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium-headless-shell", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": WIDTH_PX, "height": HEIGHT_PX})
        for entry in PAGES:
            page.goto(f"{address}/{entry.slug}")
            page.locator('[data-testid="stMain"]').wait_for(timeout=30_000)
            page.wait_for_timeout(DRAWN_MS)
            top, share, words, size = page.evaluate(MEASURE)
            begins = "none" if top is None or top == float("inf") else f"{top:.0f}"
            print(f"| {entry.title} | {begins} | {100 * share:.0f} | {words} | {size:.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
