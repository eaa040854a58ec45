"""Measure the pages of `vitviz site` in Chromium on a line of 10 Mbit/s: bytes and seconds to the first live picture.

    python benchmarks/site.py [--folder DIR] [--small]

The server compresses as web hosts do (gzip), and the pages lie below a path; `plain` is the size of the same files
without gzip. A page is live when its models have run once: Start after a stroke, Attention after a patch was hidden,
CNN or ViT after its square was moved; the others when their views stand. Writes benchmarks/site.md; --folder takes a
written site; --small measures Start once.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import os
import statistics
import sys
import tempfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pages.frame.static_site import PAGES, write_site  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

BYTES_PER_S = 10e6 / 8
LATENCY_MS = 20
STAND = """() => document.querySelector('section > div > .vv')
    && !document.querySelector('section > div > .vv:not([data-ready=true])')"""
AIMS = {"home": "600 kB, 1.5 s", "attention": "2.2 MB", "on_your_picture": "2.2 MB"}


class _Compressed(SimpleHTTPRequestHandler):
    """Send each file as gzip; `sent` and `plain` count bytes and `names` the files."""

    protocol_version = "HTTP/1.1"
    sent = plain = 0
    names: list[str] = []

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path.partition("?")[0]))
        if not path.is_file():
            return self.send_error(404)
        raw = path.read_bytes()
        packed = gzip.compress(raw, 6)
        _Compressed.sent += len(packed)
        _Compressed.plain += len(raw)
        self.names.append(path.name)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)
        return None

    def log_message(self, *args: object) -> None:
        pass


def open_page(browser: Browser, address: str) -> Page:
    """Return a new page on the throttled line, without a cache."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    session = page.context.new_cdp_session(page)
    line = {
        "offline": False,
        "latency": LATENCY_MS,
        "downloadThroughput": BYTES_PER_S,
        "uploadThroughput": BYTES_PER_S,
    }
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", line)
    page.goto(address, wait_until="commit")
    return page


def measure(browser: Browser, address: str, slug: str) -> tuple[float, float, int, int, int]:
    """Return the seconds until the views stand and until a model answers, bytes sent and plain, and requests."""
    _Compressed.sent = _Compressed.plain = 0
    _Compressed.names.clear()
    began = time.perf_counter()
    page = open_page(browser, f"{address}/{'index' if slug == 'home' else slug}.html")
    page.wait_for_function(STAND, polling="raf")
    stands = live = time.perf_counter() - began
    if slug == "home":
        box = page.locator("[data-part=picture] canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 3)
        page.mouse.down()
        while page.locator(".vv[data-component=map]").get_attribute("data-live") is None:
            at = time.perf_counter() % 1
            page.mouse.move(
                box["x"] + box["width"] * (0.3 + 0.4 * at), box["y"] + box["height"] * (0.3 + 0.3 * at)
            )
        live = time.perf_counter() - began
        page.mouse.up()
    elif slug == "attention":
        page.wait_for_selector("[data-component=explorer_live][data-started=true]")
        page.get_by_role("button", name="Hide patches").click()
        page.locator(".ax-stage").click(position={"x": 40, "y": 40})
        page.wait_for_selector("[data-component=explorer_live][data-live]")
        live = time.perf_counter() - began
    elif slug == "on_your_picture":
        page.locator(".op-picture").first.click(position={"x": 60, "y": 60})
        page.wait_for_selector("[data-component=sweep_view][data-live]")
        live = time.perf_counter() - began
    sizes = _Compressed.sent, _Compressed.plain, len(_Compressed.names)
    page.close()
    return stands, live, *sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="Start once; writes nothing")
    args = parser.parse_args()
    path = chromium_path()
    if path is None:
        sys.exit("no Chromium on this machine: install one, or name it in VITVIZ_CHROMIUM")
    rows = []
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = args.folder or Path(name) / "any" / "path"
        if args.folder is None:
            list(write_site(folder))
        files = functools.partial(_Compressed, directory=str(folder.parent))
        server = ThreadingHTTPServer(("127.0.0.1", 0), files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{folder.name}"
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for page in PAGES[:1] if args.small else PAGES:
            runs = [measure(browser, address, page.slug) for _ in range(1 if args.small else args.repeats)]
            stands, live, sent, plain, requests = (
                statistics.median(values) for values in zip(*runs, strict=True)
            )
            rows.append(
                f"| {page.slug} | {stands:.2f} s | {live:.2f} s | {sent / 1000:,.0f} kB | {plain / 1000:,.0f} kB"
                f" | {requests:.0f} | {AIMS.get(page.slug, '')} |"
            )
        browser.close()
        server.shutdown()
    text = (
        f"# The site on a line of 10 Mbit/s\n\n`python benchmarks/site.py`, {time.strftime('%Y-%m-%d')},"
        f" {os.cpu_count()} cores of {processor()}, load {os.getloadavg()[0]:.1f} at the end; Chromium, a round trip of"
        f" {LATENCY_MS} ms, medians of {args.repeats} visits without a cache.\n\n"
        "| page | stands after | live after | sent (gzip) | plain | requests | aim |\n|---|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\nLive: the model has answered a stroke (Start), hidden patches (Attention) or a moved square (CNN\n"
        "or ViT). The other pages show stored arrays first; Patches loads its model when patches are shuffled. One\n"
        "training step is sent; the others when the slider is moved to them. CNN or ViT has its matrices in 7 bits:\n"
        "of 500 test images, 3 change their class in each model, and a probability moves by 0.6 (ViT) and 0.7 points\n"
        "(CNN) on average over the images' largest change.\n"
    )
    if not args.small:
        (ROOT / "benchmarks/site.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
