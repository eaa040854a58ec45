"""Count the frames per second while pages play, in this build and in an older checkout, page by page.

python benchmarks/play_frames.py [--before DIR] [--small]: --small plays Filters alone. Frames are those of
requestAnimationFrame in Chromium with software rendering, at most 60 a second.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.browser.conftest import FLAGS, ROOT, chromium_path, free_port, settle, start_server, stop_server  # noqa: E402

VIT = "checkpoint:cifar10_vit"
PAGES = {"Filters": VIT, "Positions": VIT, "Live lab": "preset:vit_digits", "Attention distance": VIT}
COUNT = """() => new Promise((done) => {
  const times = [];
  const look = (now) => {
    times.push(now);
    if (now - times[0] < 2500) return requestAnimationFrame(look);
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    done([(1000 * gaps.length) / (now - times[0]), Math.max(...gaps)]);
  };
  requestAnimationFrame(look);
})"""


def measure(browser: Browser, address: str) -> str:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    settle(page)
    pause = page.locator("button", has_text="❚❚ Pause")
    if pause.count():  # the lab plays by itself
        pause.first.click()
    page.locator("button", has_text="▶ Play").first.click()
    pause.first.wait_for()
    rate, worst = page.evaluate(COUNT)
    page.close()
    return f"{rate:.0f} (longest gap {worst:.0f} ms)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, measured first")
    parser.add_argument("--small", action="store_true", help="play Filters alone")
    args = parser.parse_args()
    servers, addresses = [], []
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        try:
            for root in filter(None, (args.before, ROOT)):
                port, env = free_port(), {"VITVIZ_RUNS": folder, "PYTHONPATH": str(root.resolve())}
                servers.append(start_server("app.py", port, Path(folder) / "log", env, root=root.resolve()))
                addresses.append(f"http://127.0.0.1:{port}")
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            for name, model in list(PAGES.items())[: 1 if args.small else None]:
                slug = f"{name.lower().replace(' ', '_')}?model={model}"
                cells = [measure(browser, f"{address}/{slug}") for address in addresses]
                print("|", " | ".join([name, *cells]), "|", flush=True)
        finally:
            for server in servers:
                stop_server(server)


if __name__ == "__main__":
    main()
