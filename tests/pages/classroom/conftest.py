"""Fixtures: an open class, and databases that are closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from pages.stores import classes as stored
from tests.pages.classroom.helpers import ROOM, place
from tests.pages.conftest import OpenApp
from vitviz.classes.codes import CodeAttempts, DelayedAttempts


@pytest.fixture(autouse=True)
def let_go_of_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(stored, "_attempts", CodeAttempts(10, 300.0))
    monkeypatch.setattr(stored, "_network_attempts", DelayedAttempts(30, 2.0))
    monkeypatch.setattr(stored, "_all_attempts", DelayedAttempts(200, 0.1))
    yield
    for each in stored._open.values():
        each.database.close()
    stored._open.clear()


@pytest.fixture
def teacher(open_app: OpenApp) -> AppTest:
    """The app of a user who has opened a class."""
    app = open_app(ROOM, model="preset:vit_digits")
    assert not stored.get_classes().database.path.exists()
    app.button(key="class_room.open").click().run()
    assert not app.exception and place(app).leads
    return app
