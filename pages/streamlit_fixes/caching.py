"""What Streamlit works out or sends in every run, and one look of it or none is needed, made less."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from hashlib import blake2b
from typing import Any, cast

from streamlit import config
from streamlit.cursor import LockedCursor, RunningCursor, SparseList
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session, forward_msg_cache
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.session_state import SessionState

from pages.streamlit_fixes.replacement import Change, make

_NAME_BYTES = 9  # one of 10^21: no page has so many elements that two of them meet
_SMALLEST = 1000  # the setting is looked up for what has so many bytes
_mark = forward_msg_cache.populate_hash_if_needed
_say_theme = app_session._populate_theme_msg
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


_VALUES = property(Values)


def _no_pages(_session: AppSession, _message: object, _pages: object) -> None:
    """Leaves the list of pages to `st.navigation`, whose message the browser reads it from."""


@cache
def _theme(section: str) -> CustomThemeConfig:
    message = CustomThemeConfig()
    _say_theme(message, section)
    return message


def _say_theme_again(message: CustomThemeConfig, section: str = "theme") -> None:
    """A theme's section as it was read first: for each of six Streamlit goes through all settings, in every run."""
    theme = _theme(section)
    if theme.ListFields():
        message.MergeFrom(theme)


def mark(message: ForwardMsg) -> None:
    """Gives what is drawn its name, by which a browser knows that it is as before, and says whether it may be held.

    Streamlit's own is 20 bytes longer, of which a page has a hundred, and takes four times as long.
    """
    if message.hash or message.WhichOneof("type") != "delta":
        _mark(message)
        return
    content = message.delta.SerializeToString(deterministic=True)
    message.hash = urlsafe_b64encode(blake2b(content, digest_size=_NAME_BYTES).digest()).decode()
    large = len(content) >= _SMALLEST and len(content) >= int(
        config.get_option("global.minCachedMessageSize")
    )
    message.metadata.cacheable = large and message.delta.WhichOneof("type") == "new_element"


def _same_place(cursor: RunningCursor | LockedCursor, memo: dict[int, Any]) -> Any:
    """A copy of a pointer into the page: numbers, and as a rule nothing that is drawn for a moment only."""
    again = object.__new__(type(cursor))
    again.__dict__.update(cursor.__dict__)
    again._transient_elements = (
        deepcopy(cursor._transient_elements, memo) if len(cursor._transient_elements) else SparseList()
    )
    return again


def _same_container(container: DeltaGenerator, memo: dict[int, Any]) -> DeltaGenerator:
    """A copy of a container, in which those around it are copied once.

    Each fragment copies the containers that it stands in twice, one within the other; Streamlit copies all around each
    of them anew: of five containers fifteen. That was a tenth of a page's run.
    """
    again = DeltaGenerator(
        root_container=container._root_container,
        cursor=deepcopy(container._cursor, memo),
        parent=deepcopy(container._parent, memo),
        block_type=container._block_type,
    )
    again._form_data = container._form_data  # a tuple of texts
    again._creating_fragment_id = container._creating_fragment_id
    return again


def install() -> None:
    """Lets every session look up its values, and begin a run without naming every page (1.3 KB) or reading the theme.

    Fragments note where they stand in less time. Polls are runs, too.
    """
    make(
        Change(DeltaGenerator, "__deepcopy__", "self _memo", _same_container),
        Change(RunningCursor, "__deepcopy__", None, _same_place),
        Change(LockedCursor, "__deepcopy__", None, _same_place),
    )
    make(Change(app_session, "_populate_theme_msg", "msg section", _say_theme_again))
    make(Change(SessionState, "filtered_state", "", _VALUES))
    make(Change(AppSession, "_populate_app_pages", "self msg pages", _no_pages))
