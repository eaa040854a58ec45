"""Visits that watch share the server's time: few poll quickly, a class polls more slowly."""

from __future__ import annotations

import pytest

from pages.stores import runs


def test_one_session_polls_quickly_and_thirty_share(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(runs.time, "monotonic", lambda: now[0])
    watched = runs.Watchers()
    assert watched.slowness() == 1
    watched.note("first")
    watched.note("first")
    assert watched.slowness() == 1
    for session in range(30):
        watched.note(str(session))
    assert watched.slowness() == pytest.approx(31 / runs.AT_FULL_SPEED)


def test_a_session_that_has_gone_no_longer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(runs.time, "monotonic", lambda: now[0])
    watched = runs.Watchers()
    for session in range(30):
        watched.note(str(session))
    now[0] += 60
    watched.note("last")
    assert watched.slowness() == 1


@pytest.mark.parametrize(
    ("returned", "wanted"), [("3", 3.0), ("", 1.0), ("0", 1.0), ("nan", 1.0), ("slow", 1.0), ("1e9", 1.0)]
)
def test_an_operator_can_slow_all_sessions_down_and_no_word_stops_them(
    monkeypatch: pytest.MonkeyPatch, returned: str, wanted: float
) -> None:
    monkeypatch.setenv("VITVIZ_SLOWNESS", returned)
    assert runs.Watchers().slowness() == wanted
