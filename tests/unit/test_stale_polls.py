"""A fragment's poll runs on the page that the session shows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from pages.streamlit_fixes import stale_polls


@pytest.mark.parametrize(
    ("alone", "asked", "here", "run"),
    [
        (["bar"], "old", "new", ("new", "pin=cls&class=K7Q")),
        (["bar"], "new", "new", ("new", "asked=1")),
        ([], "old", "new", ("old", "asked=1")),  # a page is gone to
        (["bar"], "old", "", ("old", "asked=1")),
    ],
)
def test_a_poll_of_a_page_that_was_left_runs_on_the_page_that_is_there(
    monkeypatch: pytest.MonkeyPatch, alone: list[str], asked: str, here: str, run: tuple[str, str]
) -> None:
    """The browser dropped what the new page had drawn: a learner saw nothing between the class's bar and the foot."""
    ran: list[RerunData] = []
    monkeypatch.setattr(stale_polls, "_run_script", lambda _, data: ran.append(data))
    query = SimpleNamespace(to_dict=lambda: {"pin": "cls", "class": "K7Q"})
    session = SimpleNamespace(_state=SimpleNamespace(query_params=query))
    runner = SimpleNamespace(
        _pages_manager=SimpleNamespace(current_page_script_hash=here), _session_state=session
    )
    data = RerunData(query_string="asked=1", page_script_hash=asked, fragment_id_queue=alone)
    stale_polls._run_on_current_page(runner, data)  # type: ignore[arg-type]
    assert [(one.page_script_hash, one.query_string) for one in ran] == [run]
