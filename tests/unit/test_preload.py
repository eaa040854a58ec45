"""The document of a page names what the page asks for at first, and nothing that is not there."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from pages.stores import registry
from pages.stores.moved_views import MOVED_PAGES
from pages.streamlit_fixes.optional import preload
from pages.streamlit_fixes.required.view_files import COMPONENT
from pages.streamlit_fixes.required.view_heights import load_heights

ROOT = Path(preload.__file__).parents[3]
STATIC = Path(streamlit.__file__).with_name("static")
NAMED = re.compile(r'(?:src|href)="\./(static/js/[^"]+|_stcore/bidi-components/[^"]+)"')


def file_of(address: str) -> Path:
    """Where the server finds what an address names."""
    ours = f"_stcore/bidi-components/{COMPONENT}/"
    return ROOT / address.removeprefix(ours) if address.startswith(ours) else STATIC / address


@pytest.mark.parametrize("entry", registry.PAGES, ids=lambda entry: entry.slug)
def test_each_is_there_and_named_once(entry: registry.PageEntry) -> None:
    text = preload.render_document(entry.slug)
    named = NAMED.findall(text)
    assert [address for address in named if not file_of(address).is_file()] == []
    assert len(named) == len(set(named)) > 80
    assert entry.question in unescape(text) and "Streamlit</title>" not in text
    assert text.endswith((STATIC / "index.html").read_text("utf-8").partition("</head>")[2])


def test_a_page_below_the_server_s_own_address_says_where_the_server_is() -> None:
    for entry in registry.PAGES:
        head = preload.render_document(entry.slug).partition("</head>")[
            0
        ]  # modules are run when all of it has been read
        assert ("BACKEND_BASE_URL" in head) == (entry.slug != "home")


def test_a_page_reserves_the_room_of_its_sidebar_and_of_what_draws_later() -> None:
    for entry in registry.PAGES:
        head = preload.render_document(entry.slug).partition("</head>")[0]
        assert ("padding-left: 280px" in head) == entry.sidebar
        for query, height in zip(("min-w", "max-w"), load_heights()["nouns-dataset"], strict=True):
            rule = rf"@media \({query}(?:(?!@media).)*nouns-dataset[,)].*?min-height:(\d+)px"
            reserved = re.search(rule, head)
            assert reserved is not None and int(reserved[1]) == height
        for key, slug in (
            ("attention-layer", "attention"),
            ("data-equal", "studies"),
            ("on_picture-kind", "on_your_picture"),
        ):
            assert (key in head) == (entry.slug in (slug, "studies"))


def test_a_page_names_its_views_and_those_that_it_shares() -> None:
    named = {file_of(address).name for address in NAMED.findall(preload.render_document("attention"))}
    assert {"base.js", "base.css", "dom.js", "explorer.js", "browser.js"} <= named
    assert "patches_stage.js" not in named
    drawn = {file_of(address).name for address in NAMED.findall(preload.render_document("block"))}
    assert {"chart.js", "chart_marks.js", "plot.js"} <= drawn and not any("Plotly" in name for name in drawn)


def test_what_is_imported_at_once_comes_and_what_is_asked_for_later_does_not(tmp_path: Path) -> None:
    texts = {
        "a.js": 'import{x}from"./b.js";import "./c.js";const later = () => import("./d.js");',
        "b.js": "export * from './c.js';",
        "c.js": "",
        "d.js": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = [file.name for file in preload._follow_imports([tmp_path / "a.js"])]
    assert found == ["a.js", "b.js", "c.js"]


@pytest.mark.parametrize("base", ["", "lectures/vit/"])
def test_pages_are_answered_below_the_base_path(monkeypatch, base: str) -> None:
    given = config.get_option
    monkeypatch.setattr(config, "get_option", lambda key: base if key == "server.baseUrlPath" else given(key))
    paths = [route.path for route in preload.list_routes()]
    documents = {"", *registry.BY_SLUG, *MOVED_PAGES} - {"home"}
    redirects = {"/lectures/vit"} if base else set()
    assert set(paths) == {f"/{base}{name}" for name in documents} | redirects
    assert len(paths) == len(set(paths))


@pytest.mark.parametrize(
    ("query", "target"), [("", "vit/"), ("?layer=2&head=%E2%9C%93", "vit/?layer=2&head=%E2%9C%93")]
)
def test_the_base_path_without_its_slash_redirects_to_the_document(
    monkeypatch, query: str, target: str
) -> None:
    given = config.get_option
    monkeypatch.setattr(
        config, "get_option", lambda key: "/lectures/vit" if key == "server.baseUrlPath" else given(key)
    )
    client = TestClient(Starlette(routes=preload.list_routes()), follow_redirects=False)
    answer = client.get(f"/lectures/vit{query}")
    assert (answer.status_code, answer.headers["location"]) == (307, target)
    assert client.get("/lectures/vit/").text == preload.render_document("home")


def test_another_streamlit_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(preload, "_STREAMLIT", tmp_path)
    (tmp_path / "index.html").write_text("<html></html>")
    with pytest.raises(RuntimeError, match="no head with its title"):
        preload.render_document.__wrapped__("home")
    with pytest.raises(RuntimeError, match="no module Slider"):
        preload._find_streamlit_module("Slider")
