"""What the app changes of Streamlit fits the one it is pinned to, and is left out where another is otherwise."""

from __future__ import annotations

import importlib
import logging
from types import ModuleType, SimpleNamespace

import pytest

from pages.streamlit_fixes import installation
from pages.streamlit_fixes.installation import FunctionReplacement, apply


class Theirs:
    def add(self, number: int) -> int:
        return number + 1

    @property
    def name(self) -> str:
        return "theirs"


def _ours(one: Theirs, number: int) -> int:
    return -number


OURS = property(lambda one: "ours")


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> type[Theirs]:
    monkeypatch.setattr(installation, "_logged", set())
    return type("Theirs", (), dict(vars(Theirs)))


def test_changes_that_fit_are_made_once(theirs: type[Theirs]) -> None:
    both = (
        FunctionReplacement(theirs, "add", "self number", _ours),
        FunctionReplacement(theirs, "name", "", OURS),
    )
    assert apply(*both) and (theirs().add(3), theirs().name) == (-3, "ours")
    assert apply(*both)  # the signature that is there now is our own
    assert apply(FunctionReplacement(theirs, "new", None, _ours)) and theirs().new(2) == -2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "unlike", [("add", "self number base"), ("gone", "self"), ("name", "self"), ("add", ""), ("add", None)]
)
def test_what_is_otherwise_is_left_and_said_once(
    theirs: type[Theirs], unlike: tuple[str, str | None], caplog: pytest.LogCaptureFixture
) -> None:
    name, takes = unlike
    other = "name" if name == "add" else "add"
    fitting = FunctionReplacement(
        theirs, other, "" if other == "name" else "self number", OURS if other == "name" else _ours
    )
    for _ in range(2):
        assert not apply(fitting, FunctionReplacement(theirs, name, takes, _ours))  # all or none
    assert (theirs().add(3), theirs().name) == (4, "theirs")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"Theirs.{name}(" in caplog.text and "own behaviour stays" in caplog.text


def test_every_change_fits_the_streamlit_that_is_pinned(caplog: pytest.LogCaptureFixture) -> None:
    installation._install_fixes.cache_clear()
    installation.install()
    assert not caplog.records


def test_a_module_whose_imports_are_gone_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    installed: list[str] = []

    def module(name: str) -> ModuleType | SimpleNamespace:
        if name.endswith("lost_clicks"):
            raise ImportError("cannot import name '_coalesce_widget_states'")
        return SimpleNamespace(install=lambda: installed.append(name))

    monkeypatch.setattr(importlib, "import_module", module)
    installation._install_fixes.cache_clear()
    try:
        installation.install()
        installation.install()
    finally:
        installation._install_fixes.cache_clear()
    assert (
        len(installed) == len(installation._FIXES) - 1
        and "lost_clicks.py" in caplog.text
        and "_coalesce_widget_states" in caplog.text
    )
    assert len(caplog.records) == 1


def test_an_operator_can_leave_streamlit_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr(installation, "_install_fixes", lambda: installed.append("fix"))
    monkeypatch.setenv("VITVIZ_PLAIN_STREAMLIT", "1")
    installation.install()
    assert not installed and not installation.is_enabled()
    monkeypatch.delenv("VITVIZ_PLAIN_STREAMLIT")
    installation.install()
    assert installed == ["fix"] and installation.is_enabled()
