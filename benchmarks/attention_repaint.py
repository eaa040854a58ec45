"""Time a hover and a change of layer in the attention explorer, on grids of 14 x 14 and 28 x 28.

    python benchmarks/attention_repaint.py [--moves 200] [--out benchmarks/attention_repaint.md]

A real server and Chromium with software rendering. 'Drawing' is one repaint of the stage with 6 heads and 12 layers;
'until on the screen' lasts from the pointer event to the second animation frame after it. Aim: drawing takes at most
16 ms (95th percentile). A change of layer lasts from the click on a small map to the drawn layer, whose weights come
from the server. Aim: at most 250 ms.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS, chromium_path, free_port, stop_server  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

LAYERS = 12
SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import streamlit as st
from pages.views.explorer import ExplorerOptions, draw_explorer, read_picks, send_options
from vitviz.plots.attention_message import Scene, explorer_view, strip_view

side = int(st.query_params.get("side", "14"))

@st.cache_resource
def weights(side):  # and its strip, which the app keeps beside the capture
    tokens = side * side + 1
    scores = np.random.default_rng(0).normal(scale=2, size=(12, 6, tokens, tokens)).astype(np.float32)
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights, strip_view(weights, 1)

def on_pick():
    events = read_picks("bench")
    if "layer" in events:
        st.session_state.layer = int(events["layer"])

layer = st.session_state.setdefault("layer", 1)
scene = Scene("bench", "bench", (side, side), ("cls",), 16, layer, str(layer), 1, 6, 64,
              tuple(range(1, 13)), tuple(f"layer {{i}}" for i in range(1, 13)))
picture = np.random.default_rng(1).integers(0, 255, (224, 224, 3), dtype=np.uint8)
send_options("bench", "0.5,0.5", ExplorerOptions())
attn, strip = weights(side)
data = explorer_view(scene, picture, attn[layer - 1], strip)
draw_explorer(data, strip, key="bench", on_change=on_pick)
"""
MEASURE = """
(node) => new Promise((resolve) => {
  const view = node.closest('.vv'), stage = view.querySelector('.ax-stage'), found = { draw: [], shown: [] };
  let left = MOVES;
  const next = () => {
    if (!left--) return resolve(found);
    const box = stage.getBoundingClientRect(), began = performance.now();
    const place = { clientX: box.left + Math.random() * box.width, clientY: box.top + Math.random() * box.height };
    stage.dispatchEvent(new PointerEvent('pointermove', { ...place, pointerType: 'mouse', bubbles: true }));
    requestAnimationFrame(() => requestAnimationFrame(() => {
      found.draw.push(Number(view.dataset.repaintMs));
      found.shown.push(performance.now() - began);
      setTimeout(next, 5);
    }));
  };
  next();
})
"""


LAYER = """
(node) => new Promise((resolve) => {
  const view = node.closest('.vv'), began = performance.now();
  view.querySelectorAll('.ax-layers button')[LAYER - 1].click();
  const look = () => view.dataset.layer === 'LAYER' ? resolve(performance.now() - began) : requestAnimationFrame(look);
  look();
})
"""


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def layer_changes(page: Page, count: int) -> list[float]:
    """ms on the page's own clock from the click on another layer's small map to its weights on the stage."""
    stage = page.locator("[data-component=explorer] .ax-stage")
    found = []
    for i in range(count):
        found.append(stage.evaluate(LAYER.replace("LAYER", str(2 + i))))
        page.wait_for_timeout(300)
    return found


def measure(page: Page, address: str, moves: int) -> list[str]:
    lines = []
    for side in (14, 28):
        page.goto(f"{address}/?side={side}")
        page.locator("[data-component=explorer][data-ready=true]").wait_for(timeout=60_000)
        found = page.locator(".ax-stage").evaluate(MEASURE.replace("MOVES", str(moves)))
        changes = layer_changes(page, LAYERS - 1)
        lines.append(
            f"| {side} × {side} | {statistics.median(found['draw']):.1f} | {p95(found['draw']):.1f} |"
            f" {statistics.median(found['shown']):.1f} | {p95(found['shown']):.1f} |"
            f" {statistics.median(changes):.0f} | {max(changes):.0f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=200)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "attention_repaint.md")
    arguments = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = Path(folder) / "bench.py"
        script.write_text(SCRIPT)
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
        server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            address = f"http://127.0.0.1:{port}"
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            rows = measure(
                browser.new_page(viewport={"width": 1400, "height": 900}), address, arguments.moves
            )
            browser.close()
        finally:
            stop_server(server)
    lines = [
        "# The attention explorer's hover",
        "",
        f"{processor()}, headless Chromium, 6 heads and 12 layers, {arguments.moves} moves, ms.",
        "",
        "| grid | drawing, median | p95 | until on the screen, median | p95 | layer change, median | slowest |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    arguments.out.write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
