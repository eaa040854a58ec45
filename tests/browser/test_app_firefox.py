"""The app in Debian's Firefox: pages, drawing, uploading, training and a class, without an error in the console."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests.browser import firefox
from tests.browser.conftest import serving
from tests.browser.firefox import Firefox

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(firefox.PATH is None, reason="no Firefox on this machine"),
]
WAIT_S = 90.0  # a machine that does much else is slow, not wrong
SETTLED = """!!all('h1').length && document.querySelector('.stApp')?.dataset.testScriptState === 'notRunning'
  && all('.vv[data-component]').every((view) => view.dataset.ready || !view.getClientRects().length)"""
STATE = """(() => all('.vv[data-component]').map((view) => [view.innerText, view.dataset.query,
  ...[...view.querySelectorAll('canvas')].map((map) => map.width && map.height ? map.toDataURL() : '')]).join())()"""
PAGES = {  # the element that is pointed at
    "?model=preset:vit_digits": "[data-part=patches] canvas",
    "patches?model=preset:vit_digits": "[data-component=patches_stage] canvas",
    "attention?model=preset:vit_digits": ".ax-stage",
    "positions?model=preset:vit_digits": ".sim-map",
    "filters?model=preset:vit_digits": "[data-component=tiles_view] canvas",
    "block?model=preset:vit_digits": ".bl-strip canvas",
    "layers?model=preset:vit_digits": "[data-component=heat_grid] .vv-frame, .vv canvas",
    "swin?model=preset:swin_digits": ".sw-map",
    "two_images?model=preset:vit_digits": ".vv[data-component] canvas",
}
STOP = "patches?model=checkpoint:digits_vit&step=2429&image=digits:3&pin=0.500,0.500&patches.view=stage"
STOP += "&patches.image_px=32&patches.patch_px=4&lesson=fifteen&stop=2"
PINNING = ("patches", "attention?", "positions", "swin")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("app")) as (port, _):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox.running(tmp_path_factory.mktemp("firefox")) as tab:
        yield tab


@pytest.fixture
def tab(window: Firefox, server: str) -> Iterator[Firefox]:
    """A Firefox whose console must stay empty, and which asks no other server."""
    window.open("about:blank", 1366, 900)  # a page that polls, as a run's, complains while it is left
    window.events.clear()
    yield window
    assert window.list_faults(server) == []


def open_address(tab: Firefox, url: str) -> None:
    tab.open(url, 1366, 900)
    settle(tab)


def settle(tab: Firefox) -> None:
    tab.wait(SETTLED, True, WAIT_S)
    assert tab.read("all('[data-testid=stException]').length") == 0


def select(selector: str) -> str:
    return f"all('{selector}').find((node) => node.getClientRects().length)"


@pytest.mark.parametrize("address", PAGES)
def test_a_page_answers_the_pointer(tab: Firefox, server: str, address: str) -> None:
    open_address(tab, f"{server}/{address}")
    node = select(PAGES[address])
    tab.box(node)
    tab.point((1, 1))
    tab.read(f"(window.before = {STATE}, 0)")
    tab.touch(node, (0.2, 0.3), click=False)
    tab.wait(f"{STATE} !== window.before", True, WAIT_S)
    if address.startswith(PINNING):
        pin = "new URLSearchParams(location.search).get('pin')"
        tab.read(f"(window.before = {pin}, 0)")
        tab.touch(node, (0.2, 0.3))
        tab.wait(f"!!{pin} && {pin} !== window.before", True, WAIT_S)


def test_a_drawn_digit_is_predicted(tab: Firefox, server: str) -> None:
    open_address(tab, f"{server}/")
    strokes = "all('[data-component=map]')[0].dataset.drawing?.split('.').filter(Boolean).length"
    tab.wait(strokes, 1, WAIT_S)
    link = tab.read("location.search")
    tab.click("Clear")
    tab.wait(strokes, 0, WAIT_S)
    tab.touch(select("[data-part=picture] canvas"), (0.5, 0.12), (0.5, 0.5), (0.5, 0.88))
    tab.wait(strokes, 1, WAIT_S)
    tab.wait("reads('Prediction: 1 ')", True, WAIT_S)
    tab.wait(f"location.search !== {link!r}", True, WAIT_S)  # the pen rests, and the whole page follows
    settle(tab)


def test_an_uploaded_image_is_shown(tab: Firefox, server: str, tmp_path: Path) -> None:
    file = tmp_path / "waves.png"
    Image.linear_gradient("L").convert("RGB").save(file)
    open_address(tab, f"{server}/on_your_picture")
    tab.click("Upload")
    tab.upload("all('[data-testid=stSidebar] input[type=file]')[0]", file)
    tab.wait("location.search.includes('image=upload')", True, WAIT_S)
    settle(tab)
    tab.wait("reads('Your image')", True, WAIT_S)


def test_a_vit_trains(tab: Firefox, server: str) -> None:
    open_address(tab, f"{server}/live_lab?live_lab.recipe=digits_live&live_lab.length=2&live_lab.snapshots=2")
    tab.click("Start training")
    tab.wait("location.search.includes('live_lab.run=')", True, WAIT_S)
    tab.wait("all('.stMarkdownBadge').some((badge) => badge.innerText.includes('done'))", True, 3 * WAIT_S)
    tab.wait("all('.timeline-where')[0]?.innerText.includes('snapshot')", True, WAIT_S)


def test_an_animation_is_downloaded(tab: Firefox, server: str, tmp_path: Path) -> None:
    open_address(tab, f"{server}/positions?model=checkpoint:cifar10_vit")
    view = "[data-component=similarity_view] .vv-files"
    for kind in ("GIF", "WebP", "WebM"):
        tab.touch(select(f"{view} summary"))
        tab.click(kind)
        file = tab.folder / f"positions_training_cifar10_vit.{kind.lower()}"
        tab.wait(f"all('{view} summary')[0].innerText", "⤓", WAIT_S)
        for _ in range(100):
            if file.exists() and file.stat().st_size:
                break
            time.sleep(0.1)
        if kind != "WebM":
            with Image.open(file) as film:
                assert film.width == 1280 and film.n_frames > 1


def test_a_class_joins_follows_and_answers(tab: Firefox, server: str) -> None:
    open_address(tab, f"{server}/class_room")
    tab.click("Open class")
    tab.wait("!!all('.class-way strong').length", True, WAIT_S)
    code = tab.read("all('.class-way strong')[0].innerText.replace(/\\s/g, '')")
    learner = tab.visitor()
    open_address(learner, f"{server}/class_room")
    learner.touch(select('input[aria-label="Class code"]'))
    learner.write(code)
    learner.click("Join")
    learner.wait("reads('following the teacher')", True, WAIT_S)
    tab.wait("reads('1 following')", True, WAIT_S)
    tab.read(f"(history.pushState({{}}, '', '/{STOP}'), dispatchEvent(new PopStateEvent('popstate')), 0)")
    learner.wait("location.pathname", "/patches", WAIT_S)
    settle(tab)
    settle(learner)
    tab.click("Ask the class")
    learner.touch(select(".st-key-class_asked input"))
    learner.write("256")
    learner.click("Submit answer")
    learner.wait("reads('Your answer:')", True, WAIT_S)
    tab.wait("reads('1 answer')", True, WAIT_S)
    tab.click("Measure and show")
    learner.wait("reads('256 patches')", True, WAIT_S)
    tab.click("End question")
    learner.send("browsingContext.close", context=learner.context)
