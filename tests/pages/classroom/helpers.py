"""A class in tests of pages: who has opened one, who has come, and what their bars say."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.classroom import membership
from pages.classroom.membership import Place
from pages.frame import registry
from tests.pages.conftest import OpenApp

ROOM = registry.BY_SLUG[membership.SLUG].path
PATCHES = "pages/lenses/patches/page.py"
ATTENTION = "pages/lenses/attention/page.py"
LAB = "pages/train/lab/page.py"


def place(app: AppTest) -> Place:
    found: Place = app.session_state["_class"]
    return found


def code_of(app: AppTest) -> str:
    return place(app).code


def at(app: AppTest) -> str:
    """The slug of the page that an app shows."""
    return str(app.session_state["_page"])


def learns(open_app: OpenApp, teacher: AppTest) -> AppTest:
    """A learner who has opened the class's link."""
    return there(open_app(ROOM, **{"class": code_of(teacher)}))


def there(app: AppTest) -> AppTest:
    """A browser goes along to the page that it was led to; AppTest has to be told."""
    assert not app.exception, [error.message for error in app.exception]
    app._page_hash = calc_hash(at(app))
    return app


def bar(app: AppTest) -> str:
    return next(each.value for each in app.main.markdown if "**" in each.value and ":material/" in each.value)


def press(app: AppTest, label: str) -> AppTest:
    """Presses the button of a name."""
    return next(button for button in app.button if button.label == label).click().run()


def words(app: AppTest) -> str:
    """All that a page says, as its visitor reads it."""
    parts = [*app.main.markdown, *app.main.caption, *app.main.warning]
    return "\n".join(part.value for part in parts).replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")
