"""Check the map's descriptions of animation steps for models that differ."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Screens
from tests.browser.map_message import PLACED, message, open_map, parts

pytestmark = pytest.mark.browser
DESCRIBE = """async (bytes) => {
  const [{ open }, { MapModel }, { stationWords }] = await Promise.all(
    ['vitviz/browser/kit/blob', 'pages/start/map_model', 'pages/start/map_words'].map((file) => import(`/${file}.js`)));
  const model = new MapModel(open(new Uint8Array(bytes)));
  return Object.fromEntries(model.parts.map((part) => [part.id, stationWords(model, part, model.header.pin)]));
}"""


def descriptions(page: Page, *, pin: str = "0.375,0.625", **more: dict[str, Any]) -> dict[str, str]:
    """Return the description of every step; `more` changes parts by the first word of their id."""
    changed = [part | more.get(part["id"].partition(".")[0], {}) for part in parts()]
    descriptions: dict[str, str] = page.evaluate(DESCRIBE, message(pin=pin, parts=changed))
    return descriptions


def test_a_station_says_what_its_model_does(screens: Screens, site: str) -> None:
    page = open_map(screens, site)
    words = descriptions(page)
    assert words["positions"].startswith(PLACED["what"]) and "1.0" in words["positions"]
    assert words["positions"].endswith(f"{PLACED['why']}.")
    assert "matrix E" in words["embed"] and "8 values" in words["embed"]
    assert words["block.1"].endswith("best; the values add length 2.0, the MLP 1.5.")
    assert all(len(sentence.split()) <= 20 for sentence in words.values())
    blind = {"what": "A second linear map", "why": "it carries no position information"}
    changed = descriptions(page, positions=blind)["positions"]
    assert changed.startswith(blind["what"]) and changed.endswith(f"{blind['why']}.")
    screens.forget()


def test_a_pinned_cls_is_no_patch(screens: Screens, site: str) -> None:
    """It comes in behind the patches, and where positions are the patches' alone nothing is added to it."""
    page = open_map(screens, site)
    default = {part["id"]: part["words"] for part in parts()}
    words = descriptions(page, pin="cls", positions={"on_prefix": False})
    for name in ("patches", "embed", "positions"):
        assert words[name] == default[name]
    assert descriptions(page, pin="cls")["positions"].startswith(f"{PLACED['what']} (length 1.0)")
    screens.forget()
