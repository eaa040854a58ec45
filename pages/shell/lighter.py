"""What Streamlit works out or sends in every run, and one look of it or none is needed, made less."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.session_state import SessionState

_all = cast("Callable[[SessionState], dict[str, Any]]", cast(property, SessionState.filtered_state).fget)


class Values(Mapping[str, Any]):
    """What `SessionState.filtered_state` holds: a session's values by the keys that pages gave them.

    Streamlit puts all of them together for every list and number field that is drawn, to look at one: a quarter of
    the lab's page, which draws forty. Here one is looked up; who asks for all of them gets Streamlit's own.
    """

    def __init__(self, state: SessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        if is_element_id(key) or key.startswith("$$"):  # Streamlit's own
            raise KeyError(key)
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_all(self._state))

    def __len__(self) -> int:
        return len(_all(self._state))


def _no_pages(_session: AppSession, _message: object, _pages: object) -> None:
    """Leaves the list of pages to `st.navigation`, whose message the browser reads it from."""


def install() -> None:
    """Lets every session look up its values, and begin a run without naming every page: 1.3 KB, also of each poll.

    Raises:
        RuntimeError: if this Streamlit's sessions name pages in another way.
    """
    if not hasattr(AppSession, "_populate_app_pages"):
        raise RuntimeError("Streamlit has no _populate_app_pages: look at pages/shell/lighter.py again")
    SessionState.filtered_state = property(Values)  # type: ignore[method-assign, assignment]
    AppSession._populate_app_pages = _no_pages  # type: ignore[method-assign, assignment]
