"""The engine in a Chromium's Worker computes what torch computes; without a Worker it computes in the page."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.engine_cases import expected_record, one_step

ROOT = Path(__file__).resolve().parents[2]
CASES = ("digits_vit", "cifar10_deit_soft", "cifar10_hybrid", "cifar10_swin", "digits_cnn")
TOLERANCE = 1e-4
COMPARE = """async ([name, noWorker]) => {
  if (noWorker) window.Worker = undefined;
  const { startEngine } = await import('/vitviz/browser/engine/client.js');
  const { unpack } = await import('/vitviz/browser/kit/blob.js');
  const bytes = async (file) => new Uint8Array(await (await fetch(`/cases/${file}`)).arrayBuffer());
  const engine = await startEngine({ fallback: 'page' });
  await engine.load('m', await bytes(`${name}.safetensors`));
  const { image, ...expected } = unpack(await bytes(`${name}.record`)).arrays;
  const record = await engine.run('m', image.data, { record: 'logits' });
  let worst = 0;
  for (const [key, { data }] of Object.entries(expected).filter(([name]) => name.startsWith('record/'))) {
    const actual = (await record.get(key.replace('record/', ''))).data;
    const scale = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
    if (actual.length !== data.length) return { worst: Infinity };
    data.forEach((value, i) => (worst = Math.max(worst, Math.abs(value - actual[i]) / scale)));
  }
  engine.end();
  return { worst, inWorker: engine.inWorker, count: Object.keys(expected).length };
}"""


class _Files(SimpleHTTPRequestHandler):
    """Serves the checkout, and the cases below /cases/."""

    def __init__(self, *args: object, cases: Path, **kwargs: object) -> None:
        self.cases = cases
        super().__init__(*args, directory=str(ROOT), **kwargs)  # type: ignore[arg-type]

    def translate_path(self, path: str) -> str:
        name = path.removeprefix("/cases/")
        return super().translate_path(path) if name == path else str(self.cases / Path(name).name)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A blank page of a server that has the engine and the cases."""
    cases = tmp_path_factory.mktemp("cases")
    for name in CASES:
        raw = one_step(ROOT / "checkpoints" / f"{name}.safetensors")
        (cases / f"{name}.safetensors").write_bytes(raw)
        (cases / f"{name}.record").write_bytes(expected_record(raw, 0, masked=False))
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Files, cases=cases))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    fresh = browser.new_page()
    fresh.goto(f"http://127.0.0.1:{server.server_port}/package.json")
    yield fresh
    fresh.close()
    server.shutdown()
    server.server_close()


@pytest.mark.browser
@pytest.mark.parametrize("name", CASES)
def test_a_worker_computes_every_intermediate(page: Page, name: str) -> None:
    compared = page.evaluate(COMPARE, [name, False])
    assert compared["inWorker"]
    assert compared["count"] > 5
    assert compared["worst"] <= TOLERANCE


@pytest.mark.browser
def test_without_a_worker_the_page_computes(page: Page) -> None:
    page.reload()
    compared = page.evaluate(COMPARE, ["digits_vit", True])
    assert not compared["inWorker"]
    assert compared["worst"] <= TOLERANCE
