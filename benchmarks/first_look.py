"""Time the first visit of every page with every shipped model in Chromium.

    python benchmarks/first_look.py [--pages attention swin] [--models digits_vit] [--cold 1] [--small]

A browser without a cache opens a link. Times from the request of the page:

- figure: until the first view or image of the main column is drawn; on a page without one, until the page is complete.
- ratio: of this time to that of a two-line script's page, opened on its own server after each page.
- complete page: until the script has ended and every view has been drawn and unchanged for a tenth of a second.

Warm: one server that has loaded torch and opened no page in advance (VITVIZ_AHEAD=0); each page once with each shipped
model. Cold: a new server for each page with its first model, requested as soon as it listens. Writes
benchmarks/first_look.md; --small opens one page once and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pages.stores import catalogue, registry  # noqa: E402
from tests.browser.conftest import FLAGS, chromium_path, free_port, start_server, stop_server  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

TWO_LINES = 'import streamlit as st\nst.title("Hello")\n'
WARM_S, COLD_S = 1.5, 2.5  # wanted: seconds to the picture, once torch is loaded and before
STEADY_MS = 100
LIMIT_MS = 60_000
# Looks at the page once a frame from the request on: window.look = {picture, all, pictures}, milliseconds.
WATCH = f"""(() => {{
  const look = (window.look = {{ picture: 0, all: 0, pictures: 0 }});
  const views = (main) => [...main.querySelectorAll('[data-testid="stBidiComponentIsolated"]')]
    .filter((host) => (host.closest('[data-testid="stElementContainer"]')?.clientHeight ?? 0) > 1);
  const inside = (host) => [host, ...host.querySelectorAll('*')].map((node) => node.shadowRoot).find(Boolean) ?? host;
  const ready = (host) => inside(host).querySelector('.vv')?.dataset.ready === 'true';
  const shown = (image) => image.complete && image.naturalWidth > 0;
  const parts = (main) => [
    ...views(main).map((host) => [host, ready(host)]),
    ...[...main.querySelectorAll('[data-testid="stImage"] img')].map((image) => [image, shown(image)]),
  ];
  let since = 0;
  const frame = () => {{
    const now = performance.now();
    const main = document.querySelector('[data-testid="stMain"]');
    if (main?.querySelector('h1')) {{
      const found = parts(main);
      look.pictures = found.length;
      if (!look.picture && found.some(([, done]) => done)) look.picture = now;
      const script = document.querySelector('[data-testid="stApp"]').dataset.testScriptState;
      const skeleton = main.querySelector('[data-testid="stSkeleton"]');
      if (script !== 'notRunning' || skeleton || found.some(([, done]) => !done)) since = 0;
      else since ||= now;
      if (since && now - since >= {STEADY_MS}) {{
        look.all = since;
        look.picture ||= since;
        return;
      }}
    }}
    requestAnimationFrame(frame);
  }};
  requestAnimationFrame(frame);
}})();"""


@dataclass(frozen=True)
class Look:
    """One first look at a page with a model: seconds to its first picture and to all of it."""

    page: str
    model: str
    picture_s: float
    all_s: float


def look(browser: Browser, port: int, page: str, model: str) -> Look:
    """Return a visitor without a cache opens a page with a model, '' for the one that the page opens with."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    try:
        tab = context.new_page()
        tab.add_init_script(WATCH)
        query = f"?{urlencode({'model': f'checkpoint:{model}'})}" if model else ""
        slug = "" if page == "home" else page
        tab.goto(f"http://127.0.0.1:{port}/{slug}{query}", wait_until="commit")
        tab.wait_for_function("() => window.look?.all", polling=50, timeout=LIMIT_MS)
        found = tab.evaluate("() => window.look")
        return Look(page, model, found["picture"] / 1000, found["all"] / 1000)
    finally:
        context.close()


def warm_looks(
    browser: Browser, folder: Path, pages: list[str], models: list[str]
) -> tuple[list[Look], float]:
    """Return every page with every model, each for the first time, on one server that has torch loaded.

    A two-line script's page is opened after each page; its median in seconds is returned, too.
    """
    port, plain_port, script = free_port(), free_port(), folder / "two_lines.py"
    script.write_text(TWO_LINES)
    env = {"VITVIZ_RUNS": str(folder / "warm"), "VITVIZ_AHEAD": "0"}
    server = start_server("app.py", port, folder / "server.log", env)
    plain_server = start_server(str(script), plain_port, folder / "plain.log")
    looks, plain = [], []
    try:
        look(browser, port, "words", "")  # what is heavy is loaded behind the first page
        time.sleep(15)
        for page in pages:
            looks += [look(browser, port, page, model) for model in models]
            plain.append(look(browser, plain_port, "home", "").all_s)
        return looks, statistics.median(plain)
    finally:
        stop_server(server)
        stop_server(plain_server)


def cold_look(browser: Browser, folder: Path, page: str) -> Look:
    """Return a page as the first that a fresh server shows."""
    port = free_port()
    runs = {"VITVIZ_RUNS": str(folder / "cold")}
    server = start_server("app.py", port, folder / "server.log", runs, health="/favicon.png")
    try:
        return look(browser, port, page, "")
    finally:
        stop_server(server)


def table(warm: list[Look], cold: list[Look], plain_s: float) -> str:
    """Return a row a page: median, ratio to a two-line script and slowest of the models; the cold server's."""
    lines = [
        "| page | warm server: figure, median | ratio | slowest | its model | complete page, median | slowest"
        " | cold server: figure | complete page |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for page in dict.fromkeys(one.page for one in (*warm, *cold)):
        mine = [one for one in warm if one.page == page]
        fresh = [one for one in cold if one.page == page]
        slowest = max(mine, key=lambda one: one.picture_s)
        cells = [
            f"{statistics.median(one.picture_s for one in mine):.2f} s",
            f"{statistics.median(one.picture_s for one in mine) / plain_s:.1f}",
            f"{slowest.picture_s:.2f} s",
            slowest.model,
            f"{statistics.median(one.all_s for one in mine):.2f} s",
            f"{max(one.all_s for one in mine):.2f} s",
            f"{statistics.median(one.picture_s for one in fresh):.2f} s" if fresh else "-",
            f"{statistics.median(one.all_s for one in fresh):.2f} s" if fresh else "-",
        ]
        lines.append(f"| {page} | {' | '.join(cells)} |")
    return "\n".join(lines)


def within(looks: list[Look], most_s: float) -> str:
    """Return how many of the looks had their picture in time."""
    good = sum(one.picture_s <= most_s for one in looks)
    return f"{good} of {len(looks)} within {most_s} s"


def main() -> None:
    """Time every page view, print each, and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", nargs="*", default=[entry.slug for entry in registry.PAGES])
    parser.add_argument(
        "--models", nargs="*", default=[one.key.partition(":")[2] for one in catalogue.list_checkpoints()]
    )
    parser.add_argument("--cold", type=int, default=1, help="cold servers per page")
    parser.add_argument("--small", action="store_true", help="one page once; writes nothing")
    asked = parser.parse_args()
    if asked.small:
        asked.pages, asked.models, asked.cold = ["patches"], asked.models[:1], 1
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        try:
            cold = [cold_look(browser, folder, page) for page in asked.pages for _ in range(asked.cold)]
            warm, plain_s = warm_looks(browser, folder, asked.pages, asked.models)
        finally:
            browser.close()
    for one in (*cold, *warm):
        print(f"{one.page:20s} {one.model or '(cold)':20s} {one.picture_s:6.2f} {one.all_s:6.2f}")
    text = (
        f"# First visit of each page\n\n`python benchmarks/first_look.py`, {time.strftime('%Y-%m-%d')}, Python"
        f" {platform.python_version()}, {os.cpu_count()} cores of {processor()}, load"
        f" {os.getloadavg()[0]:.1f} at the end. Seconds from"
        " the request of a browser without a cache to the page's first figure, and to the complete page.\n\n"
        f"{table(warm, cold, plain_s)}\n\nRatios are to the page of a two-line script (median {plain_s:.2f} s)."
        f"\n\nFigures: warm {within(warm, WARM_S)}, cold {within(cold, COLD_S)}.\n"
    )
    if not asked.small:
        (ROOT / "benchmarks/first_look.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
