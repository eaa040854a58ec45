"""Links that people keep: twenty full addresses, as the app wrote them before its pages moved, and what they open.

Where an image is meant to change: `python -m pytest -n 0 --store-pictures tests/pages/test_addresses.py` writes
first_images.json anew; read its diff.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pages.controls import session_keys
from pages.stores import registry
from tests.pages.conftest import OpenApp
from tests.pages.first_image import first_image, same

KEPT: list[dict[str, Any]] = json.loads(Path(__file__).with_name("addresses.json").read_text("utf-8"))
IDS = [f"{i}-{kept['page']}" for i, kept in enumerate(KEPT)]
IMAGES = Path(__file__).with_name("first_images.json")


def stored() -> dict[str, Any]:
    """The first image of each address, by its id."""
    found: dict[str, Any] = json.loads(IMAGES.read_text("utf-8")) if IMAGES.exists() else {}
    return found


@pytest.mark.parametrize("which", IDS)
def test_an_old_link_states_and_opens_the_same(
    open_app: OpenApp, which: str, request: pytest.FixtureRequest
) -> None:
    kept = KEPT[IDS.index(which)]
    app = open_app(registry.BY_SLUG[kept["page"]].path, **kept["query"])
    assert app.title[0].value == kept["title"]
    returned = {
        key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()
    }
    assert {key: returned.get(key) for key in kept["query"]} == kept["query"]
    image = json.loads(json.dumps(first_image(app)))
    if request.config.option.store_pictures:
        lines = [
            f" {json.dumps(name)}: {json.dumps(reported)}"
            for name, reported in {**stored(), which: image}.items()
        ]
        IMAGES.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    assert same(stored().get(which), image), f"{which} opens another picture: {json.dumps(image)}"


@pytest.mark.parametrize("change", [{"image": "digits:4"}, {"pin": "0.300,0.300", "block.layer": "2"}])
def test_another_image_or_layer_is_seen(open_app: OpenApp, change: dict[str, str]) -> None:
    which = "12-block"
    app = open_app(registry.BY_SLUG["block"].path, **{**KEPT[IDS.index(which)]["query"], **change})
    assert not same(stored()[which], first_image(app))


def test_no_two_of_them_are_taken_for_one() -> None:
    reported = stored()
    assert set(reported) == set(IDS)
    alike = {(a, b) for a in reported for b in reported if a < b and same(reported[a], reported[b])}
    assert not alike


def test_a_link_s_names_that_no_control_has_are_bounded(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/swin/page.py", **{f"swin.junk{i}": "1" for i in range(300)})
    app.query_params.update({f"swin.more{i}": "1" for i in range(300)} | {f"swin.{'x' * 200}": "1"})
    app.run()
    assert not app.exception
    named = app.session_state["_unusable"]
    assert (
        not app.session_state[session_keys.REQUESTED] and 0 < len(named) <= 64 and max(map(len, named)) <= 64
    )
