"""Helpers for tests of classes: memberships, learners, class bars and page text."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.classroom import membership
from pages.classroom.membership import Membership
from pages.stores import registry
from tests.pages.conftest import OpenApp

ROOM = registry.BY_SLUG[membership.SLUG].path
PATCHES = "pages/lenses/patches/page.py"
ATTENTION = "pages/lenses/attention/page.py"
LAB = "pages/train/lab/page.py"


def place(app: AppTest) -> Membership:
    found: Membership = app.session_state["_class"]
    return found


def code_of(app: AppTest) -> str:
    return place(app).code


def at(app: AppTest) -> str:
    """Return the slug of the page that an app shows."""
    return str(app.session_state["_page"])


def learns(open_app: OpenApp, teacher: AppTest) -> AppTest:
    """Return the app of a learner who has opened the class's link."""
    return there(open_app(ROOM, **{"class": code_of(teacher)}))


def there(app: AppTest) -> AppTest:
    """Move the app to the shared page, as a browser does by itself."""
    assert not app.exception, [error.message for error in app.exception]
    app._page_hash = calc_hash(at(app))
    return app


def bar(app: AppTest) -> str:
    return next(each.value for each in app.main.markdown if "**" in each.value and ":material/" in each.value)


def press(app: AppTest, label: str) -> AppTest:
    """Press the button with a label."""
    return next(button for button in app.button if button.label == label).click().run()


def words(app: AppTest) -> str:
    """Return all text of a page as its user reads it."""
    parts = [*app.main.markdown, *app.main.caption, *app.main.warning]
    return "\n".join(part.value for part in parts).replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")
