"""A real server and a real Chromium: one of each per worker, a new session per test; who fails leaves an image."""

from __future__ import annotations

import functools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlparse

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Download,
    Error,
    Locator,
    Page,
    expect,
    sync_playwright,
)

from pages.stores import registry

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
]
START_S = 200  # at the lowest priority of a busy machine
TAIL_LINES = 100  # of a server's log, beside a failing test's image
OpenPage = Callable[..., Page]
Value = TypeVar("Value")
BLANK = "about:blank#kept"  # where a tab waits for the next test
MOST_TABS = 2  # of a worker, between its tests
NOWHERE = (-9, -9)  # where a pointer points at nothing
WAIT_MS = 60_000  # a machine that does much else is slow, not wrong
# In every page: what it has asked its server. A delay of each request in ms finds tests that read before the answer.
REQUESTS = f"window.requestDelayMs = {float(os.environ.get('VITVIZ_REQUEST_DELAY_MS', '0'))};\n" + (
    Path(__file__).with_name("requests.js").read_text("utf-8")
)
expect.set_options(timeout=WAIT_MS)


def chromium_path() -> str | None:
    """$VITVIZ_CHROMIUM, or a Chromium on the path: the one without windows takes half the processor's time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return os.environ.get("VITVIZ_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_server(
    script: str,
    port: int,
    log: Path,
    env: dict[str, str] | None = None,
    health: str = "/_stcore/health",
    root: Path = ROOT,
) -> subprocess.Popen[bytes]:
    """`streamlit run script`, once it answers; raises RuntimeError with its log where it ends or stays silent.

    It keeps its bytecode, as a server does: forbidden by the environment, every start would compile the project anew.
    """
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    with log.open("wb") as out:
        server = subprocess.Popen(
            command,
            cwd=root,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(env or {})},
        )
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{health}", timeout=START_S).close()
            return server
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            time.sleep(0.05)
    stop_server(server)
    raise RuntimeError(f"the server did not answer within {START_S} s:\n{log.read_text(errors='replace')}")


def stop_server(server: subprocess.Popen[bytes]) -> None:
    """Ends the server that this session started."""
    server.terminate()
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextmanager
def serving(
    folder: Path, health: str = "/_stcore/health", **settings: str
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The app with its runs and its log in `folder`: its port and its process."""
    port = free_port()
    env = {"VITVIZ_RUNS": str(folder / "runs"), **settings}
    server = start_server("app.py", port, folder / "server.log", env, health)
    try:
        yield port, server
    finally:
        stop_server(server)


def keep(browser: Browser, folder: Path, logs: list[Path]) -> str:
    """Leaves an image of every open page and the tail of every log in `folder`; says where they lie."""
    folder.mkdir(parents=True, exist_ok=True)
    returned = []
    for page in [page for context in browser.contexts for page in context.pages if page.url != BLANK]:
        try:
            page.screenshot(path=folder / f"page{len(returned)}.png", timeout=5000)
            returned.append(page.url)
        except Error as error:  # a page that has crashed must not hide why the test failed
            returned.append(f"{page.url}: no picture: {error.message}")
    (folder / "pages.txt").write_text("\n".join(returned) + "\n")
    for log in logs:
        lines = log.read_text(errors="replace").splitlines(keepends=True)
        (folder / log.name).write_text("".join(lines[-TAIL_LINES:]))
    return f"pictures and the server's log: {folder}"


def how_runs_stand(runs_folder: Path) -> Path:
    """A file beside the server's log: every run's directory and its status as its trainer last wrote it."""
    returned = [
        f"{path.parent.name} {path.read_text(errors='replace')}" for path in runs_folder.glob("*/status.json")
    ]
    file = runs_folder.parent / "runs.txt"
    file.write_text("\n".join(sorted(returned)) + "\n")
    return file


@functools.cache
def left_behind() -> Path:
    """Where this process's failing tests leave their images; pytest's own folders go with the third run after."""
    return Path(tempfile.mkdtemp(prefix="vitviz-failed-"))


def evidence_of(item: pytest.Item, browser: Browser) -> str:
    """`keep` for a failing test: its pages, the worker's server and what the test itself has logged."""
    given = item.funcargs  # type: ignore[attr-defined]
    folders = [given[name] for name in ("tmp_path",) if name in given]
    folders += [given["runs_folder"].parent] if "runs_folder" in given else []
    logs = [log for folder in folders for log in sorted(folder.glob("*.log"))]
    if "runs_folder" in given:
        logs.append(how_runs_stand(given["runs_folder"]))
    return keep(browser, left_behind() / re.sub(r"[^\w.-]+", "_", item.name)[:100], logs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    browser = getattr(item, "funcargs", {}).get("browser")
    if report.failed and report.when != "teardown" and browser is not None:
        report.sections.append(("What the browser showed", evidence_of(item, browser)))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium_path()
    if path is None:
        reason = "no Chromium on this machine: install one, or name it in VITVIZ_CHROMIUM"
        if os.environ.get("VITVIZ_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server keeps its runs."""
    return tmp_path_factory.mktemp("server") / "runs"


@pytest.fixture(scope="session")
def server_url(runs_folder: Path) -> Iterator[str]:
    """The app's address; runs go to a folder of this session."""
    # Ten questions a second about a run take more of a core than its training does; benchmarks/ ask at full speed.
    with serving(runs_folder.parent, VITVIZ_SLOWNESS="3") as (port, _):
        yield f"http://127.0.0.1:{port}"


class Screens:
    """Contexts by their kind of screen, kept for the worker: what Streamlit serves to everybody is fetched once.

    The last ones keep a tab each, whose process has the code ready: opening a page there takes 1.0 s of processor
    time, 1.4 in a new one, and holds 300 MB.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.kept: dict[str, list[BrowserContext]] = {}
        self.taken: list[BrowserContext] = []
        self.recent: list[BrowserContext] = []  # with a tab; the last one was left last

    def take(self, **kind: object) -> BrowserContext:
        """A context that nobody has taken since the last `forget`: a user of its own."""
        pool = self.kept.setdefault(repr(kind), [])
        context = next((one for one in pool if one not in self.taken), None)
        if context is None:
            context = self.browser.new_context(**kind)  # type: ignore[arg-type]
            context.add_init_script(REQUESTS)
            pool.append(context)
            context.on("close", lambda gone: pool.remove(gone))  # a test may end its user
        self.taken.append(context)
        return context

    def tab(self, width: int, height: int, **kind: object) -> Page:
        """A blank page of a user of its own: the tab that its context has kept, or a new one."""
        context = self.take(**kind)
        page = context.pages[0] if context.pages else context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        return page

    def forget(self) -> None:
        """Ends every session: no address, cookie or stored word is left for the next one."""
        for context in self.taken:
            for page in context.pages[1:]:
                self._leave(page)
                page.close()
            for page in context.pages:
                try:
                    self._leave(page)
                except Error:  # it has crashed, or does not answer
                    page.close()
            if any(context in pool for pool in self.kept.values()):
                context.clear_cookies()
        self.recent = [one for one in self.recent if one not in self.taken] + self.taken
        for context in self.recent[:-MOST_TABS]:
            for page in context.pages:
                page.close()
        self.taken, self.recent = [], self.recent[-MOST_TABS:]

    def _leave(self, page: Page) -> None:
        """Nothing is left of what the page has stored, and nothing of it is shown."""
        if page.url.startswith("http"):
            origin = "{0.scheme}://{0.netloc}".format(urlparse(page.url))
            given = {"origin": origin, "storageTypes": "local_storage"}
            page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", given)
            page.evaluate("() => { sessionStorage.clear(); window.name = ''; }")
        page.unroute_all()
        page.goto(BLANK)
        page.mouse.move(*NOWHERE)


@pytest.fixture(scope="session")
def screens(browser: Browser) -> Screens:
    """The worker's one."""
    return Screens(browser)


def is_problem(message: ConsoleMessage) -> bool:
    """An error; that a server has gone is for its test to say.

    A slow browser may ask for the weights of a page that was left: the server has dropped them, and nobody needs them.
    """
    dropped = re.search(r"/media/\w+\.gz$", message.location.get("url", ""))
    return message.type == "error" and "net::ERR_" not in message.text and not dropped


def format_message(message: ConsoleMessage) -> str:
    """What the console says, and of which address."""
    return f"{message.text} {message.location.get('url', '')}".strip()


@pytest.fixture
def open_page(
    browser: Browser, screens: Screens, server_url: str, request: pytest.FixtureRequest
) -> Iterator[OpenPage]:
    """`open_page("patches?image=sample:cat")`: a new session, settled; console errors and exceptions fail the test.

    The user has asked for calm: Streamlit's shimmer while a page loads takes a third of a test's processor time.
    Who looks at what moves gives `**MOVING`.
    """
    problems: list[str] = []
    heard: list[tuple[Page, str, Callable[..., None]]] = []

    def hear(page: Page, event: str, listener: Callable[..., None]) -> None:
        page.on(event, listener)  # type: ignore[call-overload]
        heard.append((page, event, listener))

    def open_address(address: str = "", *, width: int = 1400, height: int = 900, **context: object) -> Page:
        page = screens.tab(width, height, **{"reduced_motion": "reduce", **context})
        page.set_default_timeout(WAIT_MS if request.node.get_closest_marker("slow") is None else 4 * WAIT_MS)
        hear(page, "pageerror", lambda error: problems.append(f"exception: {error}"))
        hear(
            page,
            "console",
            lambda message: problems.append(format_message(message)) if is_problem(message) else None,
        )
        page.goto(f"{server_url}/{address}")
        settle(page)
        return page

    yield open_address
    where = evidence_of(request.node, browser) if problems else ""
    for page, event, listener in heard:
        page.remove_listener(event, listener)
    screens.forget()
    assert not problems, f"{problems}; {where}"


FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
ANSWERED = """() => {
  const state = window[Symbol.for('vitviz.requests')];
  return !state || (!state.waiting && state.answered >= state.requested);
}"""


def settle(page: Page) -> None:
    """Waits until every request has its answer, the script has run, and every view on the screen has drawn."""
    page.evaluate(FRAMES)  # in which Streamlit's controls send what was pressed
    page.wait_for_function(ANSWERED)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    page.locator('[data-testid="stMain"] h1').first.wait_for()
    # base.js: no view without it; and the page's own keys (browser.js)
    page.wait_for_function(
        "() => window[Symbol.for('vitviz.history')] && window[Symbol.for('vitviz.browser')]"
    )
    # Whichever are on the screen at that time: those of the page before may still stand there now.
    page.locator('.vv[data-component]:not([data-ready="true"]):visible').first.wait_for(state="hidden")
    assert page.locator('[data-testid="stException"]').count() == 0


def wait_for(page: Page, read: Callable[[], Value], is_right: Callable[[Value], object]) -> Value:
    """Read until what is read is right, as `expect` does; return it. The last reading fails the test."""
    end = time.monotonic() + WAIT_MS / 1000
    while not is_right(value := read()) and time.monotonic() < end:
        page.wait_for_timeout(100)
    assert is_right(value), value
    return value


# The page's time from now on passes this many times slower: what is asked midway has not ended before.
SLOWED = """(times) => {
  const [now, frame] = [performance.now.bind(performance), requestAnimationFrame.bind(window)];
  const [wait, began] = [setTimeout.bind(window), now()];
  const slow = (at) => began + (at - began) / times;
  performance.now = () => slow(now());
  window.requestAnimationFrame = (draw) => frame((at) => draw(slow(at)));
  window.setTimeout = (act, ms = 0, ...rest) => wait(act, times * ms, ...rest);
}"""


def paper(page: Page) -> str:
    """The colour that everything stands on, '#RRGGBB'."""
    colour = page.locator('[data-testid="stApp"]').evaluate("node => getComputedStyle(node).backgroundColor")
    return "#" + "".join(f"{int(channel):02X}" for channel in re.findall(r"\d+", colour)[:3])


def hold_slider(page: Page, key: str, share: float, steps: int = 8) -> None:
    """Drag a slider to a share of its width, in so many steps, and keep the pointer pressed."""
    slider = page.locator(f".st-key-{key}")
    track = slider.locator("[data-testid=stSlider] [role=group]").bounding_box()
    box = slider.locator("input[type=range]").evaluate(
        "node => { const r = node.parentElement.parentElement.getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; }"
    )
    assert track is not None
    page.mouse.move(*box)
    page.mouse.down()
    page.mouse.move(track["x"] + share * track["width"], box[1], steps=steps)


def frames_sent(page: Page) -> list[str | bytes]:
    """What the page sends its server from now on. It is loaded anew: a socket that is open already is not heard."""
    sent: list[str | bytes] = []
    page.once("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.reload()
    settle(page)
    assert sent, "the page's socket is not heard"
    sent.clear()
    return sent


MOVING = {"reduced_motion": "no-preference"}  # a context's; `open_page` asks for none
DRAWERS = '[data-testid="stMain"] [data-testid="stExpander"] details'
FILLED = """drawers => [...document.querySelectorAll(`${drawers}[open]`)].every((drawer) =>
  drawer.querySelector('[data-testid="stExpanderDetails"] [data-testid="stElementContainer"]'))"""


def open_drawers(page: Page, title: str = "") -> int:
    """Opens one drawer of this title after the other and waits for what lies in it; how many it opened."""
    closed = page.locator(f"{DRAWERS}:not([open]) > summary").filter(has_text=title)
    count = 0
    while closed.count():
        closed.first.evaluate(
            "(summary) => summary.click()"
        )  # what the last drawer brings moves those below it
        page.wait_for_function(FILLED, arg=DRAWERS)
        settle(page)
        count += 1
        assert count < 40, "a drawer does not stay open"
    return count


WHOLE = """(button) => {
  const drawer = button.closest('details');
  return !drawer || button.getBoundingClientRect().bottom <= drawer.getBoundingClientRect().bottom;
}"""


def take(page: Page, name: str, timeout: float | None = None) -> Download:
    """The file behind a button, pressed once a person could.

    A drawer that opens cuts off what it holds. Playwright scrolls within it to what nobody sees yet, presses, and the
    drawer is open before it lets go: on the table that stands there then.
    """
    button = page.get_by_role("button", name=name, exact=True)
    button.wait_for()
    page.wait_for_function(WHOLE, arg=button.element_handle())
    with page.expect_download(timeout=timeout) as download:
        button.click()
    return download.value


def choose_in_menu(page: Page, slug: str) -> None:
    """To a page through the navigation; what the page shows comes later."""
    entry = registry.BY_SLUG[slug]
    page.locator('[data-testid="stTopNavSection"]').filter(has_text=entry.group).first.click()
    page.locator('[data-testid="stTopNavDropdownLink"]').get_by_text(entry.title, exact=True).click()


def lead(page: Page, address: str) -> None:
    """To another address of the app in the same session, as Back or Forward leads there; the address names no pin."""
    page.evaluate(
        """(url) => {
          history.pushState({}, '', url);
          dispatchEvent(new PopStateEvent('popstate'));
        }""",
        f"/{address}",
    )
    place = re.escape(address.partition("?")[0])
    page.wait_for_url(re.compile(rf":\d+/{place}\?.*crop="))  # what a page writes when it has run to its end
    settle(page)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Says nothing: a test's own log is enough."""


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of a server of the project's own files, as Streamlit's route serves them."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(ROOT))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def open_view(page: Page, name: str) -> Locator:
    """Return a page's view by its component's name, once it is drawn."""
    view = page.locator(f"[data-component={name}]")
    expect(view).to_have_attribute("data-ready", "true")
    return view


def over(canvas: Locator, x: float, y: float) -> dict[str, float]:
    """Return a place inside a canvas, from fractions of its width and height."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    return {"x": box["width"] * x, "y": box["height"] * y}
