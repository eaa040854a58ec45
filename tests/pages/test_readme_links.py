"""Open each permalink of README with the shipped checkpoints."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from pages.stores import catalogue, registry
from tests.pages.conftest import OpenApp, query_value

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
LINKS = [unescape(link) for link in re.findall(r'href="http://localhost:8501/([^"]+)"', README)]


def test_there_are_six_and_each_has_its_card() -> None:
    assert len(LINKS) == 6
    assert all((ROOT / card).is_file() for card in re.findall(r'src="([^"]+)"', README))


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.partition("?")[0])
def test_a_permalink_of_readme_opens_what_it_names(
    link: str, open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "CHECKPOINTS", ROOT / "checkpoints")
    slug, _, query = link.partition("?")
    entry, values = registry.BY_SLUG[slug], dict(parse_qsl(query))
    app = open_app(entry.path, **values)
    assert app.title[0].value == entry.title
    assert {key: query_value(app, key) for key in values} == values
