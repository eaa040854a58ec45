"""What Streamlit works out in every run for one look at it, looked up instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

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


def install() -> None:
    """Lets every session look up its values."""
    SessionState.filtered_state = property(Values)  # type: ignore[method-assign, assignment]
