"""Test that a page names what a link asks for and no longer exists, instead of falling back in silence."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import registry
from tests.pages.conftest import OpenApp

PAGES = Path(__file__).parents[2] / "pages"
WITH_SECTIONS = {entry.path: entry for entry in registry.PAGES if entry.controls}
PREFIX = {"on_your_picture": "on_picture"}  # of a page's controls, by its address
ATTENTION = "pages/lenses/attention/page.py"
SUBJECT = {"model": "preset:vit_digits", "image": "digits:3"}


def read_notices(app: AppTest) -> list[str]:
    """Return the sentences about the link, without the signs that keep Markdown from reading them."""
    texts = [warning.value.replace("\\", "").strip("\u2060") for warning in app.main.warning]
    return [text for text in texts if text.startswith("This link asks for")]


def describe(named: str) -> str:
    return f"This link asks for {named}, which this page does not have. It shows its own settings instead."


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"attention__layer": "99"}, "Layer '99'"),
        ({"attention__view": "of_an_old_version"}, "View 'of_an_old_version'"),
        ({"attention__grey": "2"}, "Greyscale image '2'"),
        ({"attention__removed_control": "7"}, "removed control '7'"),
        (
            {"attention__layer": "99", "attention__scale": "gone"},
            "Layer '99' and Scale of the small maps 'gone'",
        ),
    ],
)
def test_what_a_link_asks_for_and_a_page_lacks_is_named(
    open_app: OpenApp, query: dict[str, str], named: str
) -> None:
    assert read_notices(open_app(ATTENTION, **SUBJECT, **query)) == [describe(named)]


def test_a_model_that_is_gone_is_named_among_those_that_are_compared(open_app: OpenApp) -> None:
    models = "preset:vit_digits,checkpoint:gone,preset:cnn_digits"
    app = open_app("pages/lenses/on_your_image/page.py", **SUBJECT, on_picture__models=models)
    (notice,) = read_notices(app)
    assert "Compared models (2 to 5) 'checkpoint:gone'" in notice
    assert app.main.pills(key="on_picture.models").value == ["preset:cnn_digits", "preset:vit_digits"]


def test_hostile_values_are_cut_and_stay_text(open_app: OpenApp) -> None:
    values = {f"attention__unknown{number}": "![x](//evil.test)\n" + "y" * 900 for number in range(20)}
    app = open_app(ATTENTION, **SUBJECT, **values)
    (notice,) = read_notices(app)
    assert "and 15 more" in notice and len(notice) < 600 and "\n" not in notice
    assert not any("![x](//evil.test)" in warning.value for warning in app.main.warning)  # escaped


def test_a_link_that_fits_names_nothing(open_app: OpenApp) -> None:
    assert read_notices(open_app(ATTENTION, **SUBJECT, attention__layer="2", utm_source="x")) == []


def test_a_notice_goes_when_it_is_dismissed_the_control_is_changed_or_the_address_is_another(
    open_app: OpenApp,
) -> None:
    def open_old_link() -> AppTest:
        app = open_app(ATTENTION, **SUBJECT, attention__layer="99")
        assert read_notices(app.run()) == [describe("Layer '99'")]  # it stays
        return app

    app = open_old_link()
    app.main.button(key="shell.link_notice.dismiss").click().run()
    assert read_notices(app) == []
    app = open_old_link()
    app.main.slider(key="attention.layer").set_value(2).run()
    assert read_notices(app.run()) == []
    app = open_old_link()
    app.query_params["attention.layer"] = "2"
    assert read_notices(app.run()) == []


@pytest.mark.parametrize("page", WITH_SECTIONS)
def test_a_page_with_sections_names_a_control_that_was_removed(open_app: OpenApp, page: str) -> None:
    prefix = PREFIX.get(WITH_SECTIONS[page].slug, WITH_SECTIONS[page].slug)
    app = open_app(page, **{f"{prefix}__removed_control": "7"})
    assert read_notices(app) == [describe("removed control '7'")]
    assert f"{prefix}.removed_control" not in app.query_params
    assert read_notices(app.run()) == [describe("removed control '7'")]


def test_a_value_of_another_section_waits_for_it(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/patches/page.py", **SUBJECT, patches__shuffled="40")
    assert read_notices(app) == [] and "40" in app.query_params["patches.shuffled"]
    app.main.segmented_control(key="patches.view").set_value("puzzle").run()
    assert read_notices(app) == [] and app.session_state["patches.shuffled"] == 40


def test_an_impossible_value_of_another_section_is_named_once_the_section_is_open(open_app: OpenApp) -> None:
    app = open_app("pages/lenses/patches/page.py", **SUBJECT, patches__shuffled="4000")
    app.main.segmented_control(key="patches.view").set_value("puzzle").run()
    (notice,) = read_notices(app)
    assert "'4000'" in notice


def list_controls() -> set[tuple[str, str]]:
    """Return (page, name) of the controls in the source: arguments of `widgets` and fields of `ControlValues`."""
    controls = set()
    for file in PAGES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and "ControlValues" in "".join(map(ast.unparse, node.bases)):
                page = ast.literal_eval(node.keywords[0].value)
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
                controls |= {(page, ast.unparse(part.target)) for part in fields}
            elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).startswith("widgets."):
                key = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
                page, _, name = str(key).partition(".")
                controls.add((page, name))
    return controls


@pytest.mark.slow
def test_the_registry_names_every_control_of_pages_with_sections() -> None:
    controls = list_controls()
    assert len(controls) > 150
    for entry in WITH_SECTIONS.values():
        prefix = PREFIX.get(entry.slug, entry.slug)
        named = {name for page, name in controls if page == prefix}
        assert len(named) > 3 and named <= set(entry.controls.split()), (entry.slug, named)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        (
            {"image": "digits:99999"},
            "Digits has no test image no. 99,999 on this server. Another image is shown.",
        ),
        ({"step": "99"}, "Step 99 of this model is not stored. The nearest one, 0, is shown."),
    ],
)
def test_an_image_or_a_step_that_is_missing_is_named(
    open_app: OpenApp, query: dict[str, str], sentence: str
) -> None:
    app = open_app(ATTENTION, **(SUBJECT | query))
    shown = [
        text.value.replace("\\", "")
        for text in (*app.sidebar.warning, *app.sidebar.caption, *app.sidebar.info)
    ]
    assert any(sentence in text for text in shown), shown
