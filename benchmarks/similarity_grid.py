"""Time a 14 x 14 similarity grid from a control's change to the drawn figure, compared with Plotly subplots.

    python benchmarks/similarity_grid.py            # on the server: matrix, message, bytes; the same as Plotly subplots
    python benchmarks/similarity_grid.py --browser  # and from the click to the drawn grid in Chromium

Medians in milliseconds. Aim: at most 150 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from vitviz.analysis import position_similarity  # noqa: E402
from vitviz.plots import positions as plots  # noqa: E402

DIM = 192


def median_ms(work: Callable[[], object], repeats: int) -> float:
    """Median wall time of a call, in milliseconds, after one call to warm up."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def mosaic(grid: int, panels: int) -> bytes:
    """Return what the page does on the server for `panels` encodings, from the formula to the message."""
    kinds: tuple[position_similarity.Encoding, ...] = ("sincos_1d", "sincos_2d_concat")
    made = []
    for kind in kinds[:panels]:
        similarity = position_similarity.cosine_similarity(
            position_similarity.encode(kind, (grid, grid), DIM)
        )
        made.append(plots.EncodingPanel(kind, "", (grid, grid), similarity[None]))
    return plots.mosaic(made, np.zeros((224, 224, 3), np.uint8), (0.5, 0.5))


def subplots(grid: int) -> str:
    """Return the same picture as one Plotly heat map per tile."""
    from plotly.subplots import make_subplots

    similarity = position_similarity.cosine_similarity(
        position_similarity.encode("sincos_1d", (grid, grid), DIM)
    )
    figure = make_subplots(rows=grid, cols=grid)
    for index, row in enumerate(similarity):
        tile = row.reshape(grid, grid)
        figure.add_heatmap(
            z=tile, zmin=-1, zmax=1, row=index // grid + 1, col=index % grid + 1, showscale=False
        )
    return str(figure.to_json())


def in_browser(repeats: int) -> list[float]:
    """Return the milliseconds from choosing another width D to the drawn mosaic of 14 x 14 tiles."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import FLAGS, chromium_path, free_port, settle, start_server, stop_server

    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        server = start_server("app.py", port, Path(folder) / "server.log", {"VITVIZ_RUNS": folder})
        try:
            with sync_playwright() as playwright:
                page = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS).new_page()
                page.goto(f"http://127.0.0.1:{port}")
                settle(page)
                page.goto(
                    f"http://127.0.0.1:{port}/positions?model=preset:vit_digits&positions.grid=14,14"
                    "&positions.left=sincos_1d&positions.right=sincos_2d_concat"
                )
                settle(page)
                page.get_by_role("button", name="Options").click()
                page.get_by_text("Stretch the scale").wait_for()
                return [_toggle_ms(page) for _ in range(repeats + 1)][1:]
        finally:
            stop_server(server)


def _toggle_ms(page: object) -> float:
    """From a click on a switch that changes the payload until the canvas's pixels have changed."""
    script = """() => new Promise((done) => {
      const find = (node) => {
        for (const child of node.querySelectorAll('*')) {
          if (child.classList?.contains('sim-map')) return child;
          const inner = child.shadowRoot && find(child.shadowRoot);
          if (inner) return inner;
        }
        return null;
      };
      const canvas = find(document), before = canvas.toDataURL(), began = performance.now();
      const label = [...document.querySelectorAll('label')].find((l) => l.textContent.includes('Stretch the scale'));
      label.querySelector('input').click();
      const look = () => canvas.toDataURL() !== before ? done(performance.now() - began) : requestAnimationFrame(look);
      requestAnimationFrame(look);
    })"""
    return float(page.evaluate(script))  # type: ignore[attr-defined]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--browser", action="store_true")
    given = parser.parse_args()
    print(f"{'grid':>6} {'two mosaics, server':>20} {'bytes':>10} {'subplots, server':>18} {'bytes':>10}")
    for grid in (7, 8, 14):
        ours = median_ms(lambda g=grid: mosaic(g, 2), given.repeats)  # type: ignore[misc]
        theirs = median_ms(lambda g=grid: subplots(g), max(1, given.repeats // 10))  # type: ignore[misc]
        print(
            f"{grid:>3}x{grid:<2} {ours:>17.1f} ms {len(mosaic(grid, 2)):>10,} {theirs:>15.0f} ms"
            f" {len(subplots(grid)):>10,}"
        )
    if given.browser:
        times = in_browser(given.repeats)
        print(
            f"14x14, two mosaics, click to drawn: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms"
        )


if __name__ == "__main__":
    main()
