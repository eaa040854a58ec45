"""The kit of the client views: by hand where a hand can compute it, equal to its Python twin where it has one."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from vitviz import text
from vitviz.models.token_layout import TokenLayout
from vitviz.pin import Pin
from vitviz.plots import theme
from vitviz.plots.blob import pack

pytestmark = pytest.mark.browser
Kit = Callable[..., Any]
NAMES = "axes blob bus colour_ramp dom grid motion pin pixels player plot text".split()
IMPORT = """async (names) => {
  window.kit = {};
  for (const name of names) kit[name] = await import(`/vitviz/browser/kit/${name}.js`);
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A page on which `kit.NAME` is each module of the kit."""
    fresh = browser.new_page()
    fresh.route(
        f"{site}/", lambda route: route.fulfill(body="<div id=place></div>", content_type="text/html")
    )
    fresh.goto(f"{site}/")
    fresh.evaluate(IMPORT, NAMES)
    yield fresh
    fresh.close()


@pytest.fixture(scope="module")
def call(page: Page) -> Kit:
    """Calls one function of the kit on many lists of arguments at once."""

    def run(name: str, calls: list[list[Any]]) -> list[Any]:
        module, function = name.split(".")
        return page.evaluate(
            "([module, name, calls]) => calls.map((args) => kit[module][name](...args) ?? null)",
            [module, function, calls],
        )

    return run


# ------------------------------------------------------------ twins of Python


def test_words_are_those_of_python(call: Kit) -> None:
    draw = random.Random(0)
    shares = [0.0, 1.0, 0.9999, 0.99949, 0.0004, *(draw.random() for _ in range(200))]
    assert call("text.percent", [[share, 1] for share in shares]) == [text.percent(share) for share in shares]
    values = [0.0, -0.0, -0.001, 0.004, -1.0, *(draw.gauss(0, 10) for _ in range(200))]
    for digits in (0, 2, 4):
        expected = [text.signed(value, digits) for value in values]
        assert call("text.signed", [[value, digits] for value in values]) == expected


@pytest.mark.parametrize(
    "layout", [TokenLayout(("cls",), (3, 5), 4), TokenLayout(("cls", "dist"), (8, 8), 4)]
)
def test_a_pin_names_the_token_that_python_gives_it(call: Kit, layout: TokenLayout) -> None:
    draw = random.Random(1)
    pins = [
        *layout.prefix,
        "0,0",
        "1,1",
        *(f"{draw.random():.3f},{draw.random():.3f}" for _ in range(100)),
    ]
    described = {"prefix": list(layout.prefix), "grid": list(layout.grid)}
    found = call("pin.tokenOfPin", [[described, pin] for pin in pins])
    assert found == [pin.token(layout) for pin in map(Pin.parse, pins) if pin]
    assert call("pin.tokenOfPin", [[described, "nobody"], [described, "0.5"], [described, "a,b"]]) == [-1] * 3


def test_every_cell_has_a_pin_that_leads_back_to_it(call: Kit) -> None:
    layout = TokenLayout((), (7, 11), 4)
    pins = call("pin.pinOf", [[[7, 11], cell] for cell in range(77)])
    assert [pin.token(layout) for pin in map(Pin.parse, pins) if pin] == list(range(77))


def test_the_palette_is_pythons(page: Page) -> None:
    ramps = {name: list(getattr(theme, name)) for name in ("SEQUENTIAL", "HEADS", "VARIANTS")}
    ramps |= {"DIVERGING": {mode: list(stops) for mode, stops in theme.DIVERGING.items()}}
    modes = {mode: asdict(palette) for mode, palette in theme.PALETTES.items()}
    assert page.evaluate("kit.colour_ramp.PALETTE") == ramps | modes | {"FAMILIES": theme.FAMILIES}


@pytest.mark.parametrize("mode", theme.PALETTES)
def test_zero_has_the_page_s_background_in_both_themes(page: Page, mode: theme.Mode) -> None:
    wanted = [theme.ramp(theme.DIVERGING[mode], i / 255) for i in (0, 128, 255)]
    found = page.evaluate(
        """(paper) => {
          const box = document.body.appendChild(document.createElement('div'));
          box.style.setProperty('--st-background-color', paper);
          kit.colour_ramp.theme(box);
          const table = kit.colour_ramp.DIVERGING_LUT;
          box.style.setProperty('--st-background-color', '#ffffff'); // as the other tests expect it
          kit.colour_ramp.theme(box);
          return [0, 128, 255].map((i) => [...table.subarray(4 * i, 4 * i + 3)]);
        }""",
        theme.PALETTES[mode].paper,
    )
    for color, rgb in zip(wanted, found, strict=True):
        assert rgb == pytest.approx([int(color[k : k + 2], 16) for k in (1, 3, 5)], abs=1)
    assert theme.DIVERGING[mode][3] == theme.PALETTES[mode].paper


def test_a_ramp_has_pythons_colours(page: Page) -> None:
    for name, stops in (("SEQUENTIAL", theme.SEQUENTIAL), ("DIVERGING", theme.DIVERGING["light"])):
        table = page.evaluate(f"[...kit.colour_ramp.{name}_LUT]")
        for i in range(256):
            red, green, blue, alpha = table[4 * i : 4 * i + 4]
            wanted = theme.ramp(stops, i / 255)
            channels = [int(wanted[k : k + 2], 16) for k in (1, 3, 5)]
            # Python rounds a half to even, the browser up.
            assert (
                max(abs(a - b) for a, b in zip((red, green, blue), channels, strict=True)) <= 1
                and alpha == 255
            )


def test_a_head_has_pythons_colour(call: Kit) -> None:
    assert call("colour_ramp.headColor", [[h, 7] for h in range(7)]) == [*theme.HEADS]
    (many,) = call("colour_ramp.headColor", [[0, 12]])
    assert (
        many == "rgb(" + ", ".join(str(int(theme.head_color(0, 12)[k : k + 2], 16)) for k in (1, 3, 5)) + ")"
    )


def test_a_message_is_what_python_packed(page: Page) -> None:
    arrays = {
        "small": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "real": np.array([0.5, -1.25], dtype=np.float32),
        "whole": np.array([[-7]], dtype=np.int32),
    }
    data = list(pack({"text": "Ω"}, **arrays))
    for offset in (0, 3):  # a message may start anywhere in its buffer
        found = page.evaluate(
            """([bytes, offset]) => {
              const padded = new Uint8Array([...Array(offset).fill(0), ...bytes]);
              const { header, arrays } = kit.blob.unpack(padded.subarray(offset));
              const plain = Object.entries(arrays).map(([name, { data, shape }]) => [name, [...data], shape]);
              return [header.text, plain];
            }""",
            [data, offset],
        )
        assert found == [
            "Ω",
            [[name, array.ravel().tolist(), list(array.shape)] for name, array in arrays.items()],
        ]


# ------------------------------------------------------------ axes


def test_a_scale_maps_values_to_pixels_and_back(page: Page) -> None:
    linear, logarithmic = page.evaluate(
        """() => [[[0, 10], [20, 120], false], [[1, 100], [60, 0], true]].map(([domain, range, log]) => {
          const scale = kit.plot.scaleOf(domain, range, log);
          const middle = scale.invert((range[0] + range[1]) / 2);
          return [...domain.map(scale), middle, scale(0), scale.ticks(4)];
        })"""
    )
    assert linear == [20, 120, 5, 20, [0, 2.5, 5, 7.5, 10]]
    assert logarithmic[:2] == [60, 0] and logarithmic[2] == pytest.approx(10)
    assert math.isnan(logarithmic[3]) and logarithmic[4] == [1, 3, 10, 30, 100]


def test_ticks_are_round_and_inside(call: Kit) -> None:
    assert call("axes.niceTicks", [[0, 1, 4]]) == [[0, 0.25, 0.5, 0.75, 1]]
    assert call("axes.niceTicks", [[0.13, 0.94, 4]]) == [[0.25, 0.5, 0.75]]
    assert call("axes.logTicks", [[2.3, 2.9], [4, 5.2]]) == [[2.4, 2.6, 2.8], [4, 4.5, 5]], (
        "of a part of a decade"
    )
    assert call("axes.logTicks", [[0.1, 1], [1, 1e5]]) == [[0.1, 0.2, 0.5, 1], [1, 10, 100, 1000, 1e4, 1e5]]


def test_labels_are_spread_within_their_room(call: Kit) -> None:
    assert call("axes.spread", [[[10, 50, 30], 15, 0, 100]]) == [[10, 50, 30]]
    (placed,) = call("axes.spread", [[[50, 50, 52], 20, 0, 60]])
    assert placed == [20, 40, 60]


# ------------------------------------------------------------ the grid under pointer and keys


def test_keys_move_within_the_grid(call: Kit) -> None:
    moves = {"ArrowLeft": 5, "ArrowRight": 7, "ArrowUp": 2, "ArrowDown": 10, "Home": 4, "End": 7}
    assert call("grid.stepTo", [[key, 6, 3, 4] for key in moves]) == list(moves.values())
    assert call("grid.stepTo", [["ArrowLeft", 4, 3, 4], ["ArrowDown", 11, 3, 4], ["ArrowUp", -1, 3, 4]]) == [
        4,
        11,
        0,
    ]
    assert call("grid.stepTo", [["Enter", 6, 3, 4]]) == [None]


def test_the_first_arrow_goes_to_where_a_view_begins(call: Kit) -> None:
    assert call(
        "grid.stepTo", [["ArrowUp", -1, 3, 4, 6], ["ArrowUp", -1, 3, 4, 99], ["ArrowUp", 6, 3, 4, 1]]
    ) == [6, 11, 2]


def test_a_place_outside_an_even_grid_is_no_cell(call: Kit) -> None:
    box = {"width": 40, "height": 30}
    assert call("grid.evenCell", [[x, y, box, 3, 4] for x, y in ((0, 0), (39, 29), (41, 5), (-1, 5))]) == [
        0,
        11,
        -1,
        -1,
    ]


def test_a_patch_is_named_by_its_number_or_its_row_and_column(call: Kit) -> None:
    names = {"1": 0, " 12 ": 11, "3,4": 11, "(2, 1)": 4, "2; 3": 6, "2.3": 6}
    wrong = ("0", "13", "4,1", "1,5", "0,1", "", "two", "1,2,3", "-1", ",2")
    assert call("grid.cellNamed", [[name, 3, 4] for name in (*names, *wrong)]) == [*names.values()] + [
        -1
    ] * len(wrong)


def test_a_typed_name_moves_to_its_cell(page: Page) -> None:
    page.evaluate(
        """() => {
          window.moves = [];
          const node = kit.dom.el(document.querySelector('#place'), 'div');
          const [grid, hover] = [() => [3, 4], (cell) => moves.push(cell)];
          kit.grid.gridNavigation(node, { label: 'Cells', grid, hover, pick: (cell) => moves.push(`pick ${cell}`) });
          node.focus();
        }"""
    )
    for key in ("1", "2", "Enter", "3", ",", "2", "ArrowUp", "9", "9"):
        page.keyboard.press(key)
    # 1, 12; 3, and row 3, column 2; up by one row; 9, and 99 begins again with 9.
    assert page.evaluate("moves") == [0, 11, "pick 11", 2, -1, 9, 5, 8]


# ------------------------------------------------------------ playing


def test_playing_shows_every_moment_once_and_stops_at_the_last(page: Page) -> None:
    seen = page.evaluate(
        """async () => {
          const node = document.createElement('button'), seen = [];
          let at = 0, ended;
          const done = new Promise((resolve) => { ended = resolve; });
          const player = kit.player.player(node, {
            at: () => at, last: () => 3, dwell: 1, ended, rewind() { at = 0; seen.push('rewind'); },
            step(to, next) { at = to; seen.push(`${node.textContent} ${to}`); next(); },
          });
          node.click();
          await done;
          node.click();
          const again = at;
          player.stop();
          return [...seen, node.textContent, again];
        }"""
    )
    assert seen == ["❚❚ Pause 1", "❚❚ Pause 2", "❚❚ Pause 3", "rewind", "▶ Play", 0]


def test_a_motion_of_no_time_is_over_at_once(page: Page) -> None:
    """A recording's first frame shows the moment to which its player went back."""
    script = "() => { const seen = []; kit.motion.animate(0, (t) => seen.push(t)); return seen; }"
    assert page.evaluate(script) == [1]


def test_a_stopped_player_shows_no_more(page: Page) -> None:
    steps = page.evaluate(
        """async () => {
          const node = document.createElement('button');
          let steps = 0;
          const player = kit.player.player(node, {
            at: () => steps, last: () => 100, dwell: 0, first: 1, rewind() {}, step(to, next) { steps = to; next(); },
          });
          node.click();
          player.stop();
          await new Promise((resolve) => setTimeout(resolve, 30));
          return steps;
        }"""
    )
    assert steps == 0


# ------------------------------------------------------------ what views tell each other


def test_the_bus_tells_all_others_and_keeps_while_owned(page: Page) -> None:
    heard = page.evaluate(
        """() => {
          const { listen, tell, keep, recall, drop } = kit.bus, a = {}, b = {}, heard = [];
          const stop = listen('moment', a, (news) => heard.push(`a ${news.step}`));
          listen('moment', b, (news) => heard.push(`b ${news.step}`));
          tell('moment', a, { step: 1 });
          stop();
          tell('moment', {}, { step: 2 });
          keep('strip', 'one', a, 'first');
          keep('strip', 'one', b, 'again');
          drop('strip', 'one', a);
          heard.push(recall('strip', 'one'));
          drop('strip', 'one', b);
          return [...heard, recall('strip', 'one') ?? 'gone'];
        }"""
    )
    assert heard == ["b 1", "b 2", "again", "gone"]


MISSING = """async () => {
  const { default: Timeline } = await import('/pages/train/lab/timeline.js');
  const { createView } = await import('/vitviz/browser/kit/dom.js');
  const header = { run: 'r', shelf: 's', fresh: [], pictures: [7], bases: [], steps: [1] };
  const arrays = { pages: { shape: [0, 0], data: new Uint32Array() }, data: { data: new Uint8Array() } };
  Object.assign(window, { asked: [], ends: [] });
  const update = createView(Timeline, {
    root: document.body, send() {}, trigger: (...what) => asked.push(what.join()), onUnmount: (end) => ends.push(end),
  });
  update({ header, arrays, colors: {}, width: 400 });
}"""


def test_a_timeline_that_lacks_leaves_asks_until_it_has_them(page: Page) -> None:
    page.clock.install()
    page.evaluate(MISSING)
    page.clock.run_for(9000)
    assert page.evaluate("asked") == ["again,s"] * 3  # the first two answers were lost, too
    page.evaluate("ends.forEach((end) => end())")
    page.clock.run_for(60_000)
    assert page.evaluate("asked.length") == 3
    page.clock.resume()
