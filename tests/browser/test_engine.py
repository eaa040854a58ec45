"""The engine in a Chromium's Worker computes what torch computes; without a Worker it computes in the page.

Photos become the input that `prepare` makes of them.
"""

from __future__ import annotations

import base64
import functools
import io
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from tests.engine_cases import expected_record, one_step
from vitviz.config import Preparation, to_dict
from vitviz.data.image_decoding import decode_image
from vitviz.data.image_preprocessing import prepare
from vitviz.data.samples import load_sample

ROOT = Path(__file__).resolve().parents[2]
CASES = ("digits_vit", "digits_cnn")  # tests/unit/test_browser_engine.py compares every architecture, in node
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


PREPARE = """async ([name, photo, preparation]) => {
  const { readPhoto } = await import('/vitviz/browser/kit/photo_file.js');
  const { preparePhoto } = await import('/vitviz/browser/kit/photo_input.js');
  const bytes = Uint8Array.from(atob(photo), (letter) => letter.charCodeAt(0));
  const { pixels } = preparePhoto(await readPhoto(new File([bytes], name)), preparation);
  const { buffer, byteOffset, byteLength } = pixels;
  const bytesOfPixels = [...new Uint8Array(buffer, byteOffset, byteLength)];
  return btoa(bytesOfPixels.map((byte) => String.fromCharCode(byte)).join(''));
}"""
TURNS = {f"turned {n}": {"format": "JPEG", "quality": 95, "orientation": n} for n in range(2, 9)}
PHOTOS: dict[str, dict[str, object]] = {
    "whole": {"format": "JPEG", "quality": 92},
    "small file": {"format": "JPEG", "quality": 60},
    "progressive": {"format": "JPEG", "quality": 85, "progressive": True},
    "every colour": {"format": "JPEG", "quality": 85, "subsampling": 0},
    "grey": {"format": "JPEG", "mode": "L"},
    "exact": {"format": "PNG"},
    **TURNS,
}


@pytest.mark.browser
@pytest.mark.parametrize(
    ("sample", "side", "names"), [("cat", 32, [*PHOTOS]), ("coffee", 224, ["whole", "turned 6", "exact"])]
)
def test_a_photo_is_prepared_as_python_prepares_it(
    page: Page, sample: str, side: int, names: list[str]
) -> None:
    """JPEG within 2 of 255 levels at the 99th percentile, and upright; PNG exact."""
    preparation = Preparation(image_size=side, mean=(0.5,) * 3, std=(0.25,) * 3, crop_fraction=0.875)
    for name in names:
        raw = encode_photo(load_sample(sample), dict(PHOTOS[name]))
        expected = prepare(decode_image(raw), preparation).input
        args = [name, base64.b64encode(raw).decode(), to_dict(preparation)]
        pixels = np.frombuffer(base64.b64decode(page.evaluate(PREPARE, args)), np.float32)
        difference = np.abs(pixels.reshape(expected.shape) - expected) * 0.25 * 255
        assert np.percentile(difference, 99) <= (0.01 if name == "exact" else 2.0), name


def encode_photo(photo: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], options: dict[str, object]) -> bytes:
    """Encode a photo; `orientation` is the EXIF entry, which decoders turn."""
    image, exif = Image.fromarray(photo).convert(str(options.pop("mode", "RGB"))), Image.Exif()
    orientation = options.pop("orientation", None)
    if orientation:
        exif[0x0112] = orientation
    buffer = io.BytesIO()
    image.save(buffer, exif=exif, **options)  # type: ignore[arg-type]
    return buffer.getvalue()
