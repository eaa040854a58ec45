"""Time whole records of the browser's engine in Chromium, and torch's in the same run: medians of 50 after 20.

    python benchmarks/engine.py

`engine.mjs` times the same in node. Prints the rows of benchmarks/engine.md.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import torch
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS, chromium_path  # noqa: E402
from tests.browser.test_engine import _Files  # noqa: E402
from tests.engine_cases import one_step  # noqa: E402
from vitviz.checkpoints import open_model  # noqa: E402

NAMES = ("mnist_vit", "digits_vit", "cifar10_vit", "cifar10_cnn", "cifar10_swin")
TIME = """async (name) => {
  const { forward } = await import('/vitviz/browser/engine/forward.js');
  const { openModel } = await import('/vitviz/browser/engine/weights.js');
  const model = openModel(new Uint8Array(await (await fetch(`/cases/${name}.safetensors`)).arrayBuffer()));
  const { in_chans: channels, image_size: side } = model.config;
  const pixels = Float32Array.from({ length: channels * side * side }, (_, i) => Math.sin(i));
  return Array.from({ length: 70 }, () => {
    const start = performance.now();
    forward(model, pixels, { record: true });
    return performance.now() - start;
  }).slice(20);
}"""


def time_torch(raw: bytes) -> float:
    """Return torch's median milliseconds with one thread."""
    model = open_model(raw)
    x = torch.zeros(1, model.config.in_chans, *model.config.image_shape)
    times = []
    with torch.inference_mode():
        for _ in range(70):
            began = time.perf_counter()
            model.model(x, record=True)
            times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[20:])


def main() -> None:
    path = chromium_path()
    if path is None:
        sys.exit("no Chromium on this machine: install one, or name it in VITVIZ_CHROMIUM")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, cases=Path(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/package.json")
        for name in NAMES:
            raw = one_step(ROOT / "checkpoints" / f"{name}.safetensors")
            (Path(folder) / f"{name}.safetensors").write_bytes(raw)
            times = page.evaluate(TIME, name)
            print(f"| {name} | {statistics.median(times):.1f} ms | {time_torch(raw):.1f} ms |", flush=True)
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
