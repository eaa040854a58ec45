"""Test that a page names what a link asks for and no longer exists, instead of falling back in silence."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import OpenApp

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
