"""Time the map on Start in Chromium while the pen moves, and from the lifted pen to the server's map.

    python benchmarks/drawing.py [--moves 60] [--before DIR] [--small]

--before measures another checkout, such as an older commit's worktree, in the same run and first; a build that does not
follow the pen has the second row alone. Writes benchmarks/drawing.md; --small draws one stroke and writes nothing.
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

PAUSE_MS = 500  # between strokes
MOVE_MS = 60  # between two moves of the pen: each is answered alone
# Collects the milliseconds from each moved pen until the map has been painted, and from each lifted pen likewise.
LATENCY = """(root) => {
    window.times = { moved: [], lifted: [], moves: 0 };
    let moved = 0;
    let lifted = 0;
    const since = (start, list) => requestAnimationFrame(() => setTimeout(() => list.push(performance.now() - start)));
    addEventListener('pointermove', ({ buttons }) => {
        if (!buttons) return;
        window.times.moves += 1;
        moved ||= performance.now();
    }, { capture: true });
    addEventListener('pointerup', () => { lifted = performance.now(); moved = 0; }, { capture: true });
    new MutationObserver((changes) => {
        for (const { attributeName: name } of changes) {
            if (name === 'data-live' && moved) { since(moved, window.times.moved); moved = 0; }
            if (name === 'data-drawing' && lifted) { since(lifted, window.times.lifted); lifted = 0; }
        }
    }).observe(root, { attributes: true, attributeFilter: ['data-drawing', 'data-live'] });
}"""


def measure(root: Path, moves: int) -> dict[str, list[float]]:
    """Return the milliseconds from each moved and each lifted pen to the painted map; two strokes warm up."""
    path = chromium_path()
    if path is None:
        sys.exit("no Chromium on this machine: install one, or name it in VITVIZ_CHROMIUM")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        port = free_port()
        env = {"VITVIZ_RUNS": f"{name}/runs", "VITVIZ_AHEAD": "0"}
        server = start_server(str(root / "app.py"), port, Path(name) / "server.log", env, root=root)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
            page.goto(f"http://127.0.0.1:{port}/")
            view = page.locator('.vv[data-component="map"][data-photo]')
            view.wait_for()
            page.wait_for_timeout(12000)  # the server's warm-up thread imports torch
            box = page.locator("[data-part=picture] canvas").bounding_box()
            assert box is not None
            for k in range(2 + moves // 12):
                if k == 2:
                    view.evaluate(LATENCY)
                if k % 5 == 0:
                    page.get_by_role("button", name="Clear").click()
                    page.wait_for_timeout(PAUSE_MS)
                x, y = box["x"] + box["width"] * (0.25 + 0.08 * (k % 5)), box["y"] + box["height"] * 0.2
                page.mouse.move(x, y)
                page.mouse.down()
                for step in range(1, 13):  # a move to where the pen is changes nothing
                    page.mouse.move(x + 2 * step, y + box["height"] * 0.05 * step)
                    page.wait_for_timeout(MOVE_MS)
                page.mouse.up()
                page.wait_for_timeout(PAUSE_MS)
            times: dict[str, list[float]] = page.evaluate("window.times")
        finally:
            browser.close()
            stop_server(server)
    return times


def describe(title: str, times: list[float]) -> str:
    if not times:
        return f"| {title} | – | – | – | 0 |"
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
    return (
        f"| {title} | {min(times):.0f} ms | {statistics.median(times):.0f} ms | {p95:.0f} ms | {len(times)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--before", type=Path, help="another checkout, measured first")
    parser.add_argument("--small", action="store_true", help="one stroke; writes nothing")
    args = parser.parse_args()
    builds = {"before": args.before, "this build": ROOT}
    rows = []
    for name, root in builds.items():
        if root is None:
            continue
        times = measure(root.resolve(), 12 if args.small else args.moves)
        rows.append(describe(f"{name}: from a moved pen to the painted map", times["moved"]))
        rows.append(describe(f"{name}: from the lifted pen to the server's map", times["lifted"]))
    text = (
        f"# Drawing on the start page\n\n`python benchmarks/drawing.py --before …`, {time.strftime('%Y-%m-%d')},"
        f" {os.cpu_count()} cores of {processor()}, load {os.getloadavg()[0]:.1f} at the end.\n\n"
        "| MNIST ViT, warm | min | median | p95 | n |\n|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\nAim: from a moved pen, median at most 33 ms and p95 at most 50 ms.\n"
    )
    if not args.small:
        (ROOT / "benchmarks/drawing.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
