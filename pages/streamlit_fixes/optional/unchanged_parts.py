"""Send a part of a page again as it was, widgets and fragments included, while nothing that it depends on has changed.

Without this fix (Streamlit 1.67): every run of a page draws its sidebar anew, a sixth of the run's time.
`VITVIZ_PLAIN_STREAMLIT=1` does so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st
from streamlit.cursor import get_container_cursor
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from pages.streamlit_fixes.installation import is_enabled
from pages.streamlit_fixes.optional.element_cache import record_messages, send_again

if TYPE_CHECKING:
    from streamlit.runtime.scriptrunner_utils.thread_safe_set import ThreadSafeSet

T = TypeVar("T")


@dataclass(frozen=True)
class RecordedPart:
    """What a part of the page sent in a run, and what that depended on."""

    state: object
    messages: list[ForwardMsg]
    registered: list[frozenset[str]]  # ids and keys of elements, and ids of fragments
    values: dict[str, Any]  # of its widgets by id
    span: tuple[int, int]  # elements in the root container before it and after it
    result: Any


def draw_unless_unchanged(
    key: str, root: DeltaGenerator, read_state: Callable[[], object], draw: Callable[[], T]
) -> T:
    """Draw into a root container, or send again what the session's last run drew there. Parts may be nested.

    A run whose drawing changes the state, or that polls, is not sent again.

    Args:
        key: session key of the recording.
        root: a root container, such as `st.sidebar`.
        read_state: return all that `draw` reads beside the values of its own widgets; None: always draw.
        draw: return a value that is returned again.
    """
    context, state = get_script_run_ctx(suppress_warning=True), read_state()
    if context is None or state is None or not is_enabled():
        with root:
            return draw()
    cursor = get_container_cursor(root._root_container)
    assert cursor is not None
    recording: RecordedPart | None = st.session_state.get(key)
    if recording is not None and recording.state == state and _holds(context, recording, cursor.index):
        send_again(context, recording.messages)
        for names, added in zip(_list_registers(context), recording.registered, strict=True):
            for name in added:
                names.check_and_add(name)
        cursor._index = recording.span[1]
        result: T = recording.result
        return result
    st.session_state[key] = None
    start, before = cursor.index, [names.snapshot() for names in _list_registers(context)]
    results: list[T] = []
    messages = record_messages(context, root, lambda: results.append(draw()))
    registered = [names.snapshot() - old for names, old in zip(_list_registers(context), before, strict=True)]
    if read_state() == state and all(m.metadata.delta_path[:1] == [root._root_container] for m in messages):
        values = _read_values(context, registered[0])
        st.session_state[key] = RecordedPart(
            state, messages, registered, values, (start, cursor.index), results[0]
        )
    return results[0]


def _list_registers(context: ScriptRunContext) -> "list[ThreadSafeSet[str]]":
    """Return where Streamlit notes the elements and the fragments that a run has drawn; it forgets all others."""
    shared = context.shared
    return [shared.widget_ids_this_run, shared.widget_user_keys_this_run, shared.new_fragment_ids]


def _holds(context: ScriptRunContext, recording: RecordedPart, index: int) -> bool:
    """Return True if the recorded widgets and fragments still exist, in the same place and with the same values."""
    is_stored = all(context.fragment_storage.contains(name) for name in recording.registered[2])
    return (
        is_stored
        and index == recording.span[0]
        and recording.values == _read_values(context, frozenset(recording.values))
    )


def _read_values(context: ScriptRunContext, ids: frozenset[str]) -> dict[str, Any]:
    values = {}
    for name in ids:
        try:
            values[name] = context.session_state[name]
        except KeyError:  # a container, or a widget that is gone
            continue
    return values
