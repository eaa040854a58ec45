"""A class that has been opened, and files that are let go of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import classes as stored
from tests.pages.classroom.helpers import ROOM, place
from tests.pages.conftest import OpenApp


@pytest.fixture(autouse=True)
def let_go_of_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stored, "_tries", type(stored._tries)(10, 300.0))
    yield
    for each in stored._open.values():
        each.database.close()
    stored._open.clear()


@pytest.fixture
def teacher(open_app: OpenApp) -> AppTest:
    """Who has opened a class."""
    app = open_app(ROOM, model="preset:vit_digits")
    assert not stored.classes().database.path.exists()
    app.button(key="class_room.open").click().run()
    assert not app.exception and place(app).leads
    return app
