"""The site in a browser: Start follows the pen from a folder and below any path, and its pages are for everyone."""

from __future__ import annotations

import base64
import functools
import gzip
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

import vitviz
from pages.frame.static_site import PAGES, write_site
from tests.browser import firefox
from tests.browser.conftest import over
from tests.browser.test_axe import found
from tests.browser.test_live_page import draw_strokes
from tests.rows import rows
from vitviz.analysis.image_changes import CHANGES, ChangeSetting, apply_change
from vitviz.checkpoints import open_model
from vitviz.data import drawings
from vitviz.data.image_preprocessing import prepare
from vitviz.data.samples import load_sample
from vitviz.models.loaded_model import LoadedModel
from vitviz.probe.robustness import sweep
from vitviz.text import percent

pytestmark = pytest.mark.browser


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("host") / "any" / "path"
    assert len([*write_site(folder)]) > len(PAGES)
    return folder


@pytest.fixture(scope="module", params=rows(["file", "http"], "file".__eq__))
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """The folder's address, as a file and below a path of a server."""
    if request.param == "file":
        yield site.as_uri()
        return
    files = functools.partial(_Files, directory=str(site.parents[1]))
    server = ThreadingHTTPServer(("127.0.0.1", 0), files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/any/path"
    server.shutdown()
    server.server_close()


def open_page(page: Page, address: str, name: str) -> list[str]:
    """Open a page; return the list of its errors and of requests beyond the folder."""
    wrong: list[str] = []
    inside = (address, "blob:", "data:")
    page.on("request", lambda one: None if one.url.startswith(inside) else wrong.append(one.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda one: wrong.append(one.text) if one.type == "error" else None)
    page.goto(f"{address}/{name}.html")
    expect(page.locator("section > div > .vv[data-ready=true]").first).to_be_visible()
    return wrong


@pytest.mark.slow
def test_start_follows_the_pen_and_predicts_as_python(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844})
    wrong = open_page(page, address, "index")
    expect(page.locator("main .vv[data-component=map]")).to_have_attribute("data-follows", "")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".mp-summary")).to_contain_text("Draw a digit: nothing is predicted")
    strokes = draw_strokes(page, "main .vv[data-component=map]", "data-live")
    name, share = vitviz.inspect("mnist_vit", drawings.draw_strokes(strokes)).prediction[0]
    summary = page.locator(".mp-summary")
    expect(summary).to_contain_text(f"Prediction: {name} ({100 * share:.1f}\N{NO-BREAK SPACE}%)")
    assert wrong == []
    page.close()


def test_the_chosen_theme_holds_on_all_pages(browser: Browser, address: str) -> None:
    page = browser.new_page(color_scheme="light")
    wrong = open_page(page, address, "swin")
    page.get_by_role("button", name="Use the dark theme").click()
    page.get_by_role("link", name="Patches").click()
    page.wait_for_url("**/patches.html")
    expect(page.get_by_role("button", name="Use the light theme")).to_be_visible()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert wrong == []
    page.close()


def test_a_step_is_loaded_when_the_slider_reaches_it(browser: Browser, address: str) -> None:
    page = browser.new_page()
    loaded: list[str] = []
    page.on("request", lambda one: loaded.append(one.url) if "/weights/" in one.url else None)
    wrong = open_page(page, address, "attention")
    view = page.locator("main .vv[data-component=explorer_live]")
    expect(view).to_have_attribute("data-started", "true")
    assert len(loaded) <= 1
    page.get_by_label("Training step").fill("0")
    expect(view).to_have_attribute("data-step", "0")
    assert len(loaded) == 2
    assert wrong == []
    page.close()


def test_patches_are_shuffled_by_the_views_own_slider(browser: Browser, address: str) -> None:
    page = browser.new_page()
    wrong = open_page(page, address, "patches")
    view = page.locator("main .vv[data-component=patches_puzzle]")
    chart = view.get_by_role("img", name="in order").first
    assert chances(chart, "in order") != chances(chart, "shuffled")
    view.get_by_label("Percent of shuffled patches").fill("0")
    expect(view).to_have_attribute("data-live", "0", timeout=60_000)
    assert chances(chart, "in order") == chances(chart, "shuffled")
    assert wrong == []
    page.close()


def chances(chart: Locator, order: str) -> list[str]:
    return re.findall(rf"{order} (\S+)", chart.get_attribute("aria-label") or "")


@pytest.mark.slow
@pytest.mark.skipif(firefox.PATH is None, reason="no Firefox on this machine")
def test_firefox_opens_every_page_from_the_disk_and_start_answers_a_drawing(
    site: Path, tmp_path: Path
) -> None:
    missing = (
        "[...document.querySelectorAll('main > section')]"
        ".filter((section) => !section.querySelector('.vv[data-ready=true]'))"
    )
    with firefox.running(tmp_path) as tab:
        for page in PAGES:
            tab.open((site / f"{page.slug.replace('home', 'index')}.html").as_uri(), 390, 844)
            tab.wait("document.querySelectorAll('main > section').length > 0", True, 60)
            tab.wait(f"{missing}.length", 0, 60)
        tab.open((site / "index.html").as_uri(), 390, 844)
        root = "document.querySelector('.vv[data-component=map]')"
        tab.wait(f"{root}?.dataset.follows", "", 60)
        tab.click("Clear")
        tab.touch("document.querySelector('canvas.vv-pad')", (0.3, 0.2), (0.7, 0.2), (0.45, 0.85))
        tab.wait(f"{root}.dataset.live !== '' && {root}.dataset.live === {root}.dataset.strokes", True, 60)
        image = drawings.draw_strokes(tab.read(f"{root}.dataset.live"))
        name, share = vitviz.inspect("mnist_vit", image).prediction[0]
        text = f"Prediction: {name} ({percent(share)})"
        tab.wait(f"document.querySelector('.mp-summary').textContent.includes({text!r})", True, 30)
        assert tab.list_faults() == []


def load_script(file: Path) -> LoadedModel:
    text = file.read_text("utf-8").partition("'")[2].partition("'")[0]
    return open_model(gzip.decompress(base64.b64decode(text)))


def predict_changed(
    models: dict[str, LoadedModel], image: np.ndarray, name: str, strength: float
) -> list[str]:
    """Return what the CNN and the ViT predict for a changed image; a cover lies on its first quarter's corner."""
    answers = []
    for family in ("cnn", "vit"):
        model = models[family]
        shown = prepare(image, model.preparation).shown
        changed = apply_change(shown, name, strength, ChangeSetting(place=(0.25, 0.25)))
        chances = sweep(model, changed[None]).probabilities[0]
        answers.append(f"{model.classes[chances.argmax()]} {percent(float(chances.max()))}")
    return answers


@pytest.mark.slow
def test_cnn_and_vit_predict_as_python_for_a_dragged_square_and_a_users_turned_and_blurred_image(
    browser: Browser, address: str, site: Path, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    loaded: list[Path] = []
    page.on(
        "request",
        lambda one: loaded.append(site / "weights" / Path(one.url).name) if "/weights/" in one.url else None,
    )
    wrong = open_page(page, address, "on_your_picture")
    view = page.locator("main .vv[data-component=sweep_view]").first
    assert loaded == []
    image = view.locator(".op-picture")
    image.click(position=over(image, 1 / 4, 1 / 4))
    expect(view).to_have_attribute("data-live", re.compile(r"^\[\[0\.25,0\.25\]"), timeout=60_000)
    models = {model.config.family: model for model in map(load_script, loaded)}
    answers = view.locator(".op-answer")
    expect(answers).to_have_text(predict_changed(models, load_sample("horse"), "occlude", 0.25))

    cat = load_sample("cat")
    Image.fromarray(cat).save(tmp_path / "cat.png")
    view.get_by_label("Image file").set_input_files(tmp_path / "cat.png")
    expect(answers).to_have_text(predict_changed(models, cat, "occlude", 0.25), timeout=60_000)
    for index, name, at in ((1, "rotate", 10), (2, "blur", 4)):
        other = page.locator("main .vv[data-component=sweep_view]").nth(index)
        other.locator(".op-slide input").fill(str(at))
        expected = predict_changed(models, cat, name, CHANGES[name].values[at])
        expect(other.locator(".op-answer")).to_have_text(expected, timeout=60_000)
    (tmp_path / "page.png").write_text("no image")
    view.get_by_label("Image file").set_input_files(tmp_path / "page.png")
    expect(view.get_by_role("status").first).to_contain_text("not an image")
    assert wrong == []
    page.close()


GATE = """() => {
  const decode = window.createImageBitmap;
  const gate = new Promise((open) => { window.openGate = open; });
  window.createImageBitmap = async (...given) => {
    const bitmap = await decode(...given);
    if (given[0] instanceof File) await gate;
    return bitmap;
  };
}"""


@pytest.mark.slow
def test_a_square_that_is_moved_while_a_photo_is_read_covers_that_photo(
    browser: Browser, site: Path, tmp_path: Path
) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    loaded: list[Path] = []
    page.on(
        "request",
        lambda one: loaded.append(site / "weights" / Path(one.url).name) if "/weights/" in one.url else None,
    )
    wrong = open_page(page, site.as_uri(), "on_your_picture")
    view = page.locator("main .vv[data-component=sweep_view]").first
    page.evaluate(GATE)
    cat = load_sample("cat")
    Image.fromarray(cat).save(tmp_path / "cat.png")
    view.get_by_label("Image file").set_input_files(tmp_path / "cat.png")
    expect(view.get_by_role("status").first).to_have_text("Reading the image …")
    box = view.locator(".op-picture").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    expect(view).to_have_attribute("data-live", re.compile(r"^\[\[0\.25,0\.25\]"), timeout=60_000)
    page.evaluate("openGate()")
    expect(view.get_by_role("status").first).to_have_text("", timeout=120_000)
    models = {model.config.family: model for model in map(load_script, dict.fromkeys(loaded))}
    expect(view.locator(".op-answer")).to_have_text(predict_changed(models, cat, "occlude", 0.25))
    expect(view.locator("progress")).to_be_hidden()
    assert wrong == []
    page.close()


TAPPED = {
    "index": "Mask patches",
    "patches": "Show response",
    "attention": "Hide patches",
    "positions": "2-D, concatenated",
    "filters": "▶ Play",
    "attention_distance": "Play through training",
    "on_your_picture": "Show model input",
    "swin": "Next step: Roll",
}


@pytest.mark.slow
def test_a_finger_reaches_every_page_and_its_controls(browser: Browser, site: Path) -> None:
    screen = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="no-preference"
    )
    page = screen.new_page()
    wrong = open_page(page, site.as_uri(), "index")
    assert len(TAPPED) == len(PAGES)
    for name, control in TAPPED.items():
        page.locator(f"nav a[href='{name}.html']").tap()
        page.wait_for_url(f"**/{name}.html")
        expect(page.locator("section > div > .vv[data-ready=true]").first).to_be_visible()
        pressed = page.get_by_role("button", name=control, exact=True, pressed=True)
        before = pressed.count()
        page.get_by_role("button", name=control, exact=True).first.tap()
        if name in ("filters", "attention_distance", "swin"):  # the button is named for what comes next
            expect(page.get_by_role("button", name=control, exact=True)).to_have_count(0)
        else:
            expect(pressed).to_have_count(0 if before else 1)
    assert wrong == []
    screen.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index", *(page.slug for page in PAGES[1:])])
def test_every_page_is_for_everyone(browser: Browser, site: Path, name: str) -> None:
    for scheme, width in (("light", 390), ("dark", 1280)):
        page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
        wrong = open_page(page, site.as_uri(), name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert found(page) == [] and wrong == []
        page.close()
