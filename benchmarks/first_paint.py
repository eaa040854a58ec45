"""Time the first visit of a new server, a switch of pages and a change of the image in Chromium.

    python benchmarks/first_paint.py [--starts 7] [--switches 63] [--changes 40] [--small]

First visits are compared with those of a two-line Streamlit script; both servers start anew for every visit, in turn,
each with a new browser context, and are visited as soon as they listen, when this app is not warm yet. Writes
benchmarks/first_paint.md; --small runs everything once and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.conftest import FLAGS, chromium_path, free_port, start_server, stop_server  # noqa: E402
from vitviz.training.provenance import processor  # noqa: E402

TWO_LINES = 'import streamlit as st\nst.title("Hello")\n'
READY = """() => document.querySelector('[data-testid="stMain"] h1')
    && document.querySelector('[data-testid="stApp"]')?.getAttribute('data-test-script-state') === 'notRunning'"""
LINK = '[data-testid="stTopNavDropdownLink"]'
STEP_UP = '[data-testid="stNumberInputStepUp"]'
# Acts, then looks once per frame until the page shows what it should; resolves with milliseconds.
TIMED = """([act, done]) => new Promise((resolve, reject) => {
    const isDone = new Function('return ' + done), began = performance.now();
    new Function(act)();
    const look = () => {
        if (isDone()) resolve(performance.now() - began);
        else if (performance.now() - began > 60000) reject(new Error('not within a minute: ' + done));
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})"""


def first_visit(browser: Browser, script: str, folder: Path) -> tuple[float, float]:
    """Seconds until a server that is started listens, and from the request then to a finished page."""
    port = free_port()
    asked = time.perf_counter()
    server = start_server(
        script, port, folder / "server.log", {"VITVIZ_RUNS": str(folder / "runs")}, health="/favicon.png"
    )
    started = time.perf_counter() - asked
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    try:
        page = context.new_page()
        began = time.perf_counter()
        page.goto(f"http://127.0.0.1:{port}/", wait_until="commit")
        page.wait_for_function(READY, polling="raf", timeout=60_000)
        return started, time.perf_counter() - began
    finally:
        context.close()
        stop_server(server)


def settled(page: Page) -> None:
    page.wait_for_function(READY, polling="raf", timeout=60_000)
    page.wait_for_timeout(300)


def page_switches(page: Page, count: int, pages: int | None) -> list[tuple[str, float]]:
    """Pages' titles, and milliseconds from a click in the navigation to the page's finished script, seen before.

    Args:
        count: switches that are timed.
        pages: how many of the pages take part; None for all.
    """
    groups = page.locator('[data-testid="stTopNavSection"]')
    titles: list[tuple[int, str]] = []
    for index in range(groups.count()):
        groups.nth(index).click()
        links = page.locator(LINK)
        links.first.wait_for()
        titles += [(index, text.strip().split("\n")[-1]) for text in links.all_inner_texts()]
        page.keyboard.press("Escape")
        links.first.wait_for(state="detached")
    titles = titles[:pages]
    times = []
    for turn in range(1, 1 + len(titles) + count):  # the first title is the page that is open
        index, title = titles[turn % len(titles)]
        groups.nth(index).click()
        page.locator(LINK).filter(has_text=title).first.wait_for()
        # Found anew at the moment of the click: a menu that the app draws again leaves no old link behind.
        found = f"[...document.querySelectorAll('{LINK}')].find((link) => link.innerText.endsWith({title!r}))"
        page.evaluate(
            "() => { window.__title = document.querySelector('[data-testid=\"stMain\"] h1')?.innerText; }"
        )
        done = (
            "document.querySelector('[data-testid=\"stMain\"] h1')?.innerText !== window.__title"
            " && document.querySelector('[data-testid=\"stApp\"]').dataset.testScriptState === 'notRunning'"
        )
        elapsed = page.evaluate(TIMED, [f"{found}.click()", done])
        if turn > len(titles):
            times.append((title, elapsed))
        settled(page)
    return times


def control_changes(page: Page, count: int) -> list[float]:
    """Return the milliseconds from a click on the sidebar's next picture to its name on the page."""
    times = []
    for turn in range(1, count + 1):
        page.locator(STEP_UP).first.wait_for()  # the sidebar is drawn after the first script has ended
        done = f"document.querySelector('[data-testid=\"stSidebar\"]').innerText.includes('no. {turn}:')"
        times.append(page.evaluate(TIMED, [f"document.querySelector('{STEP_UP}').click()", done]))
        settled(page)
    return times


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def row(name: str, values: list[float], unit: str, digits: int) -> str:
    numbers = (min(values), statistics.median(values), p95(values))
    return f"| {name} | {' | '.join(f'{number:.{digits}f}' for number in numbers)} | {unit} | {len(values)} |"


def by_page(switches: list[tuple[str, float]]) -> str:
    """'Attention explorer 120 ms, ...', the slowest first."""
    found: dict[str, list[float]] = {}
    for title, elapsed in switches:
        found.setdefault(title, []).append(elapsed)
    slowest = sorted(((statistics.median(times), title) for title, times in found.items()), reverse=True)
    return ", ".join(f"{title} {elapsed:.0f} ms" for elapsed, title in slowest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--switches", type=int, default=63, help="number of page switches")
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--small", action="store_true", help="everything once; writes nothing")
    args = parser.parse_args()
    if args.small:
        args.starts = args.switches = args.changes = 1
    path = chromium_path()
    if path is None:
        sys.exit("no Chromium on this machine: install one, or name it in VITVIZ_CHROMIUM")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        hello = folder / "hello.py"
        hello.write_text(TWO_LINES)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        plain, ours = [], []
        for _ in range(args.starts):
            plain.append(first_visit(browser, str(hello), folder))
            ours.append(first_visit(browser, "app.py", folder))
        port = free_port()
        server = start_server("app.py", port, folder / "server.log", {"VITVIZ_RUNS": str(folder / "runs")})
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"http://127.0.0.1:{port}/?image=digits:0")
            settled(page)
            changes = control_changes(page, args.changes)
            switches = page_switches(page, args.switches, 2 if args.small else None)
        finally:
            browser.close()
            stop_server(server)
    plain_start, plain_visit = ([found[k] for found in plain] for k in (0, 1))
    our_start, our_visit = ([found[k] for found in ours] for k in (0, 1))
    ratio = statistics.median(our_visit) / statistics.median(plain_visit)
    table = "\n".join(
        [
            "| what | min | median | p95 | unit | n |",
            "|---|---|---|---|---|---|",
            row("start of a server until it answers: two-line script", plain_start, "s", 2),
            row("start of a server until it answers: this app", our_start, "s", 2),
            row("first visit of a server that has just started: two-line script", plain_visit, "s", 2),
            row("first visit of a server that has just started: this app", our_visit, "s", 2),
            row("switch of pages, warm server", [elapsed for _, elapsed in switches], "ms", 0),
            row("change of the image number until the page shows it", changes, "ms", 0),
        ]
    )
    load = os.getloadavg()[0]
    text = (
        f"# First paint\n\n`python benchmarks/first_paint.py`, {time.strftime('%Y-%m-%d')},"
        f" Python {platform.python_version()}, {os.cpu_count()} cores of {processor()}, load {load:.1f} at the"
        f" end.\n\n{table}\n\n"
        f"First visit, ratio of medians: **{ratio:.2f}** (aim: at most 1.6).\n\n"
        f"Median time of the switch to each page: {by_page(switches)}.\n"
    )
    if not args.small:
        (ROOT / "benchmarks/first_paint.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
