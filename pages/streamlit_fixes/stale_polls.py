"""Run a fragment's poll on the page that the session shows now.

Without this fix (Streamlit 1.67, no upstream issue found): a poll that was requested before its page was left names the
old page to the browser, which then drops everything that the new page has drawn.
"""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from pages.streamlit_fixes.replacement import Replacement, apply

_run_script = ScriptRunner._run_script


def install() -> None:
    """Replace the page of a fragment's run by the session's page."""
    apply(
        Replacement(ScriptRunner, "_run_script", "self rerun_data", _run_on_current_page),
        Replacement(PagesManager, "current_page_script_hash", ""),
    )


def _run_on_current_page(runner: ScriptRunner, data: RerunData) -> None:
    current_page = runner._pages_manager.current_page_script_hash
    if data.fragment_id_queue and current_page and data.page_script_hash != current_page:
        query = urlencode(runner._session_state._state.query_params.to_dict())
        data = replace(data, page_script_hash=current_page, query_string=query)
    _run_script(runner, data)
