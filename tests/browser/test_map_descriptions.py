"""What the journey over the map says at its stations, of models that differ."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Screens
from tests.browser.map_message import message, open_map, parts

pytestmark = pytest.mark.browser
SAID = """async (bytes) => {
  const [{ open }, { MapModel }, { stationWords }] = await Promise.all(
    ['/pages/views/kit/blob.js', '/pages/start/map_model.js', '/pages/start/map_words.js'].map((file) => import(file)));
  const model = new MapModel(open(new Uint8Array(bytes)));
  return Object.fromEntries(model.parts.map((part) => [part.id, stationWords(model, part, model.header.pin)]));
}"""


def said(page: Page, *, pin: str = "0.375,0.625", **more: dict[str, Any]) -> dict[str, str]:
    """Every station's words; `more` changes parts by the first word of their id."""
    changed = [part | more.get(part["id"].partition(".")[0], {}) for part in parts()]
    found: dict[str, str] = page.evaluate(SAID, message(pin=pin, parts=changed))
    return found


def test_a_station_says_what_its_model_does(screens: Screens, site: str) -> None:
    page = open_map(screens, site)
    words = said(page)
    assert words["positions"] == (
        "The vector of its place, 1.0 long, is added to the token: it tells attention where each lies."
    )
    assert "Multiplied by E, a matrix of weights, it becomes" in words["embed"]
    assert words["block.1"].endswith("with them the token is 6.0 long.")
    assert said(page, block={"pre_norm": False})["block.1"].endswith(
        "with them, and after LayerNorm, the token is 6.0 long."
    )
    blind = {"what": "What a second map makes of the patch's pixels", "why": "it knows no place"}
    assert said(page, positions=blind)["positions"].endswith("is added to the token: it knows no place.")
    screens.forget()


def test_a_pinned_cls_is_no_patch(screens: Screens, site: str) -> None:
    """It comes in behind the patches, and where positions are the patches' alone nothing is added to it."""
    page = open_map(screens, site)
    own = {part["id"]: part["words"] for part in parts()}
    words = said(page, pin="cls", positions={"on_prefix": False})
    for name in ("patches", "embed", "positions"):
        assert words[name] == own[name]
    assert said(page, pin="cls")["positions"].startswith("The vector of its place, 1.0 long")
    screens.forget()
