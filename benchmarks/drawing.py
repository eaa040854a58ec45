"""Measure how soon the start page's map shows a stroke, in a real Chromium: from the lifted pen to the last bar.

    python benchmarks/drawing.py [--strokes 40] [--small]

The table goes to benchmarks/drawing.md; --small draws three strokes and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS, chromium_path, free_port, start_server, stop_server  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

PAUSE_MS = 500  # between strokes; with every fourth one the pen rests, so that the whole page follows
REST_MS = 2500
# Resolves with the milliseconds from the next lifted pen until the map with its strokes has been painted.
LATENCY = """(root) => {
    window.latency = new Promise((resolve) => {
        let lifted = 0;
        addEventListener('pointerup', () => { lifted = performance.now(); }, { capture: true, once: true });
        new MutationObserver((_, observer) => {
            if (!lifted) return;
            observer.disconnect();
            requestAnimationFrame(() => resolve(performance.now() - lifted));
        }).observe(root, { attributes: true, attributeFilter: ['data-drawing'] });
    });
}"""


def measure(strokes: int) -> list[float]:
    """Return the milliseconds of each stroke after two that warm up."""
    path = chromium_path()
    if path is None:
        sys.exit("no Chromium on this machine: install one, or name it in VITVIZ_CHROMIUM")
    times = []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        port = free_port()
        env = {"VITVIZ_RUNS": f"{name}/runs", "VITVIZ_AHEAD": "0"}
        server = start_server("app.py", port, Path(name) / "server.log", env)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
            page.goto(f"http://127.0.0.1:{port}/")
            root = page.locator('.vv[data-component="map"][data-photo]')
            root.wait_for()
            page.wait_for_timeout(15000)  # the server's warm-up thread imports torch
            box = page.locator("[data-part=picture] canvas").bounding_box()
            assert box is not None
            for k in range(strokes + 2):
                if k % 8 == 0:
                    page.get_by_role("button", name="Clear").click()
                    page.wait_for_timeout(PAUSE_MS)
                root.evaluate(LATENCY)
                x, y = box["x"] + box["width"] * (0.25 + 0.06 * (k % 8)), box["y"] + box["height"] * 0.2
                page.mouse.move(x, y)
                page.mouse.down()
                page.mouse.move(x + 20, y + box["height"] * 0.55, steps=12)
                page.mouse.up()
                times.append(page.evaluate("window.latency"))
                page.wait_for_timeout(REST_MS if k % 4 == 3 else PAUSE_MS)
        finally:
            browser.close()
            stop_server(server)
    return times[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strokes", type=int, default=40)
    parser.add_argument("--small", action="store_true", help="three strokes; writes nothing")
    args = parser.parse_args()
    times = measure(3 if args.small else args.strokes)
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
    text = (
        f"# Drawing on the start page\n\n`python benchmarks/drawing.py`, {time.strftime('%Y-%m-%d')},"
        f" {os.cpu_count()} cores of {processor()}, load {os.getloadavg()[0]:.1f} at the end.\n\n"
        "| from the lifted pen to the last bar | min | median | p95 | n |\n|---|---|---|---|---|\n"
        f"| one stroke, MNIST ViT, warm | {min(times):.0f} ms | {statistics.median(times):.0f} ms | {p95:.0f} ms"
        f" | {len(times)} |\n\nWanted: median at most 150 ms, p95 at most 250 ms.\n"
    )
    if not args.small:
        (ROOT / "benchmarks/drawing.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
