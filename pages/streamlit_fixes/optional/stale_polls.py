"""Run no fragment of a page that was left; a click in it runs the page that the session shows now.

Without this fix (Streamlit 1.67, no upstream issue found): a fragment's run that was requested before its page was left
names the old page to the browser, which then drops everything that the new page has drawn. A run that names the new
page has the same effect if it reaches the browser in one batch with the new page, as after a dropped connection.
"""

from dataclasses import replace
from urllib.parse import urlencode

from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from pages.streamlit_fixes.installation import FunctionReplacement, apply

_run_script = ScriptRunner._run_script


def install() -> None:
    """Replace the page of a fragment's run by the session's page."""
    apply(
        FunctionReplacement(ScriptRunner, "_run_script", "self rerun_data", _run_on_current_page),
        FunctionReplacement(PagesManager, "current_page_script_hash", ""),
    )


def _run_on_current_page(runner: ScriptRunner, rerun_data: RerunData) -> None:
    current_page = runner._pages_manager.current_page_script_hash
    if rerun_data.fragment_id_queue and current_page and rerun_data.page_script_hash != current_page:
        if rerun_data.is_auto_rerun and not _has_click(rerun_data):
            return  # the next poll follows
        query = urlencode(runner._session_state._state.query_params.to_dict())
        rerun_data = replace(
            rerun_data,
            page_script_hash=current_page,
            query_string=query,
            fragment_id_queue=[],
            is_fragment_scoped_rerun=False,
        )
    _run_script(runner, rerun_data)


def _has_click(rerun_data: RerunData) -> bool:
    widgets = [] if rerun_data.widget_states is None else rerun_data.widget_states.widgets
    return any((widget.WhichOneof("value") or "").endswith("trigger_value") for widget in widgets)
