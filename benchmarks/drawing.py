"""Time a stroke on Start in Chromium, from the lifted pen to the last bar.

The table also has the processor time of the server and of the page in this interval. They work one after the other, so
on idle cores their sum is about the waiting time.

    python benchmarks/drawing.py [--strokes 40] [--small]

Writes benchmarks/drawing.md; --small draws three strokes and writes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
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


def read_processor_ms() -> dict[int, tuple[int, float]]:
    """Return each process's parent and its processor time so far, in milliseconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    times = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            times[int(entry.name)] = (int(fields[1]), 1000 * (int(fields[11]) + int(fields[12])) / ticks)
    return times


def sum_tree(times: dict[int, tuple[int, float]], root: int) -> float:
    """Return the processor time of a process and its descendants."""
    children = [pid for pid, (parent, _) in times.items() if parent == root]
    return times.get(root, (0, 0.0))[1] + sum(sum_tree(times, child) for child in children)


def measure(strokes: int) -> list[tuple[float, float, float]]:
    """Return each stroke's waiting time, and the server's and the browser's processor time, after two that warm up."""
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
                before = read_processor_ms()
                page.mouse.up()
                waited_ms = page.evaluate("window.latency")
                after = read_processor_ms()
                server_ms, all_ms = (
                    sum_tree(after, pid) - sum_tree(before, pid) for pid in (server.pid, os.getpid())
                )
                times.append((waited_ms, server_ms, all_ms - server_ms))
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
    columns = list(zip(*measure(3 if args.small else args.strokes), strict=True))
    names = (
        "from the lifted pen to the last bar",
        "processor time of the server",
        "processor time of the browser",
    )
    rows = [
        f"| {name} | {min(times):.0f} ms | {statistics.median(times):.0f} ms"
        f" | {statistics.quantiles(times, n=20, method='inclusive')[-1]:.0f} ms | {len(times)} |"
        for name, times in zip(names, columns, strict=True)
    ]
    text = (
        f"# Drawing on the start page\n\n`python benchmarks/drawing.py`, {time.strftime('%Y-%m-%d')},"
        f" {os.cpu_count()} cores of {processor()}, load {os.getloadavg()[0]:.1f} at the end.\n\n"
        "| one stroke, MNIST ViT, warm | min | median | p95 | n |\n|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\nAim: median at most 150 ms, p95 at most 250 ms.\n"
    )
    if not args.small:
        (ROOT / "benchmarks/drawing.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
