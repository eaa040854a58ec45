"""A poll of a page that was left does not run; a click there runs the page that the session shows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from pages.streamlit_fixes.optional import stale_polls


@pytest.mark.parametrize(
    ("alone", "asked", "here", "run"),
    [
        (["bar"], "old", "new", ("new", "pin=cls&class=K7Q", [])),
        (["bar"], "new", "new", ("new", "asked=1", ["bar"])),
        ([], "old", "new", ("old", "asked=1", [])),  # a page is gone to
        (["bar"], "old", "", ("old", "asked=1", ["bar"])),
    ],
)
def test_a_fragment_of_a_page_that_was_left_runs_the_page_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
    alone: list[str],
    asked: str,
    here: str,
    run: tuple[str, str, list[str]],
) -> None:
    """The browser dropped what the new page had drawn: a learner saw nothing between the class's bar and the foot."""
    data = RerunData(query_string="asked=1", page_script_hash=asked, fragment_id_queue=alone)
    (one,) = list_runs(monkeypatch, data, here)
    assert (one.page_script_hash, one.query_string, one.fragment_id_queue) == run


def test_a_poll_of_a_page_that_was_left_does_not_run_unless_it_brings_a_click(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poll = RerunData(page_script_hash="old", fragment_id_queue=["bar"], is_auto_rerun=True)
    assert not list_runs(monkeypatch, poll, "new") and list_runs(monkeypatch, poll, "old") == [poll]
    states = WidgetStates()
    states.widgets.add(id="submit", trigger_value=True)
    (run,) = list_runs(monkeypatch, replace(poll, widget_states=states), "new")
    assert run.page_script_hash == "new" and run.widget_states == states


def list_runs(monkeypatch: pytest.MonkeyPatch, data: RerunData, here: str) -> list[RerunData]:
    """Return what runs for a request while the session shows the page `here`."""
    ran: list[RerunData] = []
    monkeypatch.setattr(stale_polls, "_run_script", lambda _, data: ran.append(data))
    query = SimpleNamespace(to_dict=lambda: {"pin": "cls", "class": "K7Q"})
    session = SimpleNamespace(_state=SimpleNamespace(query_params=query))
    runner = SimpleNamespace(
        _pages_manager=SimpleNamespace(current_page_script_hash=here), _session_state=session
    )
    stale_polls._run_on_current_page(runner, data)  # type: ignore[arg-type]
    return ran
