"""Keep every text of every page and study in tests/pages/text, so that wording is reviewed as a diff of plain text.

Whoever reads every view and drawer also sees whether its formulas are set and whether its views fill their places.

A page's file holds what the page shows in each view: after its guesses are answered, with all drawers and popovers
open. `frame.txt` holds the sidebar and the menu, `views.txt` the texts in the views' JavaScript. Numbers are 0.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, TimeoutError

from pages.stores.registry import PAGES
from pages.streamlit_fixes.required.view_files import FOLDERS
from pages.studies.study import list_studies
from tests.browser.conftest import DRAWERS, FILLED, REQUESTS, ROOT, serving, settle
from tests.browser.text_reader import HIGH_PX, PAUSE_MS, RECORD_CANVAS, WIDE_PX, Reader, normalise
from tests.browser.view_strings import texts_of
from tests.rows import rows

FOLDER = ROOT / "tests" / "pages" / "text"
FRAME = "block"  # the page whose sidebar and menu stand for those of every page
READ_BY_CI = ("block", "home", "patches", "study_residuals")  # the first without --slow, too
MAIN, SIDEBAR, HEADER = (f'[data-testid="{name}"]' for name in ("stMain", "stSidebar", "stHeader"))
POPOVER = '[data-testid="stPopoverBody"]'
SEGMENT = 'button[role="radio"]'
MOST_GUESSES = 8  # of a view
# A page whose texts come with polls: what stands there when all have come (a recording that is complete has no newest
# snapshot to follow), and a pause of about a poll.
POLLED = {"live_lab": ('[data-component="timeline"] button[title^="Always show the newest"][hidden]', 1500)}
ADDRESSES = {entry.slug: entry.slug for entry in PAGES} | {  # by the file of their texts
    f"study_{name}": f"studies?studies.study={name}" for name in list_studies()
}
_CLASSES = "attention?model=checkpoint:cifar10_vit&attention.view="
MORE_VIEWS = {  # what neither a page's row of views nor its first model shows
    "attention": tuple(f"{_CLASSES}{view}" for view in ("depth", "methods", "truth", "shares", "ablate")),
    "layers": ("layers?model=checkpoint:cifar10_vit&layers.view=probe",),
    "live_lab": ("live_lab?live_lab.train=experiment",),
}

# Formulas that are red, dollars left in the text, and views that are lower than the place kept for them as they loaded.
BROKEN = """() => {
  const broken = [...document.querySelectorAll('.katex-error')].map((node) => node.textContent);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (data.includes('$') && !parentElement.closest('code, pre, .katex, script, style')) broken.push(data);
  }
  for (const place of document.querySelectorAll('[data-testid=stMain] [data-testid=stElementContainer]'))
    for (const host of place.querySelectorAll('*'))
      for (const view of host.shadowRoot?.querySelectorAll('.vv') ?? [])
        if (view.clientHeight && place.clientHeight - view.clientHeight > 16)
          broken.push(`${view.dataset.component}: ${place.clientHeight - view.clientHeight} px too many`);
  return broken;
}"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server of this file's own: no run, class, dataset or download of another test shows in a text."""
    folder = tmp_path_factory.mktemp("text")
    with serving(folder, VITVIZ_DATA=f"{folder}/data", VITVIZ_WEIGHTS=f"{folder}/weights") as (port, _):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(
        reduced_motion="reduce", color_scheme="light", viewport={"width": WIDE_PX, "height": HIGH_PX}
    )
    opened.add_init_script(f"({RECORD_CANVAS})()")
    opened.add_init_script(REQUESTS)
    yield opened
    opened.close()


@pytest.fixture
def tab(context: BrowserContext) -> Iterator[Page]:
    """Open a new session of the browser."""
    context.clear_cookies()
    page = context.new_page()
    page.set_default_timeout(60_000)
    yield page
    page.evaluate("localStorage.clear()")
    page.close()


@pytest.fixture(scope="module")
def frame_lines(context: BrowserContext, url: str) -> list[str]:
    """The texts that surround every page."""
    page = context.new_page()
    reader = Reader(page)
    page.goto(f"{url}/{FRAME}")
    reader.read("== Sidebar", SIDEBAR, area=1)
    read_popovers(reader, SIDEBAR, area=1)
    reader.read("== Menu", HEADER, area=1)
    page.close()
    return reader.lines


def compare(name: str, lines: list[str], is_updated: bool) -> None:
    """Write a file of texts, or fail with the difference."""
    path, text = FOLDER / f"{name}.txt", "\n".join(lines).strip() + "\n"
    if is_updated:
        path.write_text(text, "utf-8")
        return
    before = path.read_text("utf-8") if path.is_file() else ""
    if sorted(text.splitlines()) != sorted(
        before.splitlines()
    ):  # a loaded machine draws charts in another order
        shown = difflib.unified_diff(
            before.splitlines(), text.splitlines(), "stored", "shown", lineterm="", n=1
        )
        command = "python -m pytest --update-text tests/browser/test_page_texts.py"
        pytest.fail(
            f"{path.relative_to(ROOT)} differs; review, then run {command}\n" + "\n".join(shown),
            pytrace=False,
        )


@pytest.fixture
def is_updated(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-text"))


@pytest.mark.browser
def test_the_frame_shows_the_stored_text(frame_lines: list[str], is_updated: bool) -> None:
    compare("frame", frame_lines, is_updated)


@pytest.mark.browser
@pytest.mark.parametrize("slug", rows(READ_BY_CI, lambda slug: slug == READ_BY_CI[0]))
def test_a_page_shows_the_stored_text(
    tab: Page, url: str, frame_lines: list[str], slug: str, is_updated: bool
) -> None:
    read_page(tab, url, frame_lines, slug, is_updated)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("slug", [slug for slug in ADDRESSES if slug not in READ_BY_CI])
def test_every_other_page_shows_the_stored_text(
    tab: Page, url: str, frame_lines: list[str], slug: str, is_updated: bool
) -> None:
    read_page(tab, url, frame_lines, slug, is_updated)


def read_page(tab: Page, url: str, frame_lines: list[str], slug: str, is_updated: bool) -> None:
    """Read every view of a page, with its guesses, drawers and popovers, and compare the texts with the stored ones."""
    polled, pause_ms = POLLED.get(slug, ("", PAUSE_MS))
    reader = Reader(tab, frame_lines, pause_ms)
    tab.goto(f"{url}/{ADDRESSES[slug]}")
    settle(tab)
    tab.locator(f"{MAIN} .st-key-shell-foot").first.wait_for(state="attached")
    if polled:
        tab.locator(polled).wait_for(state="attached")
    views = views_of(tab, slug)
    for number in range(max(views.count(), 1)):
        title = "== Page"
        if views.count():
            view = views.nth(number)
            title = f"== View: {view.inner_text().strip()}"
            if view.is_disabled():
                continue
            press(view)
        read_view(reader, title)
    reader.read("== Sidebar of this page", SIDEBAR)
    for address in MORE_VIEWS.get(slug, ()):
        tab.goto(f"{url}/{address}")
        read_view(reader, f"== {address}")
    compare(slug, reader.lines, is_updated)


def test_the_views_code_holds_the_stored_text(is_updated: bool) -> None:
    lines = []
    files = [file for folder in FOLDERS for file in folder.rglob("*.js")]
    for path in sorted(files, key=lambda path: path.name):
        texts = list(dict.fromkeys(filter(None, map(normalise, texts_of(path.read_text("utf-8"))))))
        if texts:
            lines += ["", f"== {path.name}", *texts]
    compare("views", lines, is_updated)


def test_numbers_dates_and_commits_are_normalised() -> None:
    text = "3 of 1,234.5 px, ViT-B/16 on CIFAR-10: −3.2e-5, 12\N{NO-BREAK SPACE}%, 8 × 8, commit 5ab12cd, 2026-01-02"
    assert normalise(text) == "0 of 0 px, ViT-B/16 on CIFAR-10: 0, 0 %, 0 × 0, commit ID, DATE"
    assert normalise("[canvas] 12 × 3") == ""


def test_a_views_texts_are_read_from_strings_and_templates() -> None:
    code = """say(`layer ${n} of ${on ? 'the model' : `all ${k}`}`); // 'not this text'
      text.split(/['"] x/); el(root, 'p', { class: 'one two' }, 'It\\'s here');"""
    assert texts_of(code) == ["layer 0 of 0", "the model", "all 0", "It's here"]


def test_every_file_of_texts_belongs_to_a_page() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {"frame", "views", *ADDRESSES}


def views_of(page: Page, slug: str) -> Locator:
    """Return the segments that choose a page's view: their control is named after the page, 'SLUG.view'."""
    return page.locator(MAIN).locator(f'[class*="st-key-{slug}-view"] {SEGMENT}')


def press(button: Locator) -> None:
    """Press a button, wherever it stands, and wait for the run that follows."""
    button.evaluate("(node) => node.click()")
    settle(button.page)


def read_view(reader: Reader, title: str) -> None:
    """Read a view as it opens, with its guesses answered, with its drawers open, and each of its popovers."""
    reader.read(title, MAIN)
    if answer_guesses(reader.page):
        reader.read("-- After the guess", MAIN)
    if open_all_drawers(reader.page):
        reader.read("-- Drawers", MAIN)
    assert reader.page.evaluate(BROKEN) == [], title
    read_popovers(reader, MAIN)


def answer_guesses(page: Page) -> int:
    """Ask every open guess for its answer, by its last pill; return their number."""
    guesses = page.locator(f'{MAIN} [class*="guess-row"] [data-testid="stButtonGroup"]')
    count = 0
    while guesses.count() and count < MOST_GUESSES:
        with suppress(TimeoutError):  # a busy browser removes an answered guess late
            guesses.first.locator("button").last.evaluate("(node) => node.click()", timeout=10_000)
            count += 1
        settle(page)
    return count


def open_all_drawers(page: Page) -> int:
    """Open one drawer after the other, for Streamlit runs one at a time; return their number."""
    closed = page.locator(f"{DRAWERS}:not([open]) > summary")
    count = 0
    while closed.count():
        closed.first.evaluate("(node) => node.click()")
        page.wait_for_function(FILLED, arg=DRAWERS)
        count += 1
        assert count < 60, "a drawer does not stay open"
    return count


def read_popovers(reader: Reader, place: str, area: int | None = None) -> None:
    """Open one popover after the other, and read what it holds."""
    buttons = reader.page.locator(f'{place} [data-testid="stPopover"] button')
    for number in range(buttons.count()):
        button = buttons.nth(number)
        if not button.is_visible() or button.is_disabled():
            continue
        name = " ".join(button.locator('[data-testid="stMarkdownContainer"]').all_inner_texts())
        press(button)
        reader.page.locator(POPOVER).first.wait_for()
        reader.read(f"-- Popover: {name}", POPOVER, area)
        close_popover(reader.page, button)


def close_popover(page: Page, button: Locator) -> None:
    """Close it by its button; a busy browser loses a click now and then."""
    popover = page.locator(POPOVER).first
    for _ in range(3):
        press(button)
        with suppress(TimeoutError):
            popover.wait_for(state="hidden", timeout=20_000)
            return
    raise AssertionError("the popover does not close")
