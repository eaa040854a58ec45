"""Links that people keep: twenty full addresses, as the app wrote them before its pages moved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pages.shell import registry
from tests.pages.conftest import OpenApp

KEPT: list[dict[str, Any]] = json.loads(Path(__file__).with_name("addresses.json").read_text("utf-8"))


@pytest.mark.parametrize("kept", KEPT, ids=[f"{i}-{kept['page']}" for i, kept in enumerate(KEPT)])
def test_an_old_link_says_what_it_said(open_app: OpenApp, kept: dict[str, Any]) -> None:
    app = open_app(registry.BY_SLUG[kept["page"]].path, **kept["query"])
    assert app.title[0].value == kept["title"]
    said = {key: value[0] if isinstance(value, list) else value for key, value in app.query_params.items()}
    assert {key: said.get(key) for key in kept["query"]} == kept["query"]
