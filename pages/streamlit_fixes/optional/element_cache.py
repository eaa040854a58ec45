"""Cache the messages of elements that depend on a few values alone, for all sessions.

Without this fix (Streamlit 1.67): cards, links and tables are rebuilt in every run; each costs about 1 % of a page's
run. `VITVIZ_PLAIN_STREAMLIT=1` draws them anew.
"""

from collections.abc import Callable, Hashable

from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext, ThreadState

from pages.stores.shared_results import ResultCache
from pages.streamlit_fixes.installation import is_enabled

_LARGE_BYTES = (
    1000  # as in .streamlit/config.toml: whether a browser may keep a message is decided in every run
)
_messages: ResultCache[list[ForwardMsg]] = ResultCache(1024)


def draw_cached(
    place: DeltaGenerator,
    render: Callable[..., None],
    *args: object,
    private: bool = False,
    key: Hashable = None,
) -> None:
    """Draw `render(*args)` into a new, empty container, from the cache where it was drawn before.

    `render` draws neither widgets nor views, stores nothing, and depends on its arguments alone.

    Args:
        place: the container.
        render: a function of a module or of a page's script.
        private: True if an argument belongs to one session; nothing is cached then.
        key: stands for the arguments if they are not hashable.

    Raises:
        ValueError: if `render` draws outside of the container.
    """
    context, cursor = get_script_run_ctx(suppress_warning=True), place._cursor
    if private or context is None or cursor is None or not is_enabled():
        with place:
            render(*args)
        return
    thread, path = ThreadState.get(), tuple(cursor.delta_path[:-1])
    is_drawn = False

    def record() -> list[ForwardMsg]:
        nonlocal is_drawn
        is_drawn = True
        messages = record_messages(context, place, lambda: render(*args))
        if any(tuple(message.metadata.delta_path[: len(path)]) != path for message in messages):
            raise ValueError(f"expected every cached element inside its container at {path}")
        return messages

    # By name: the functions of a page's script are new objects in every run.
    name = f"{render.__module__}.{render.__qualname__}"
    content = args if key is None else key
    messages = _messages.get((name, content, path, thread.active_script_hash, thread.fragment_id), record)
    if not is_drawn:
        send_again(context, messages)


def send_again(context: ScriptRunContext, messages: list[ForwardMsg]) -> None:
    """Send recorded messages; Streamlit changes what it sends."""
    for message in messages:
        copied = ForwardMsg()
        copied.CopyFrom(message)
        context.enqueue(copied)


def record_messages(
    context: ScriptRunContext, place: DeltaGenerator, render: Callable[[], None]
) -> list[ForwardMsg]:
    """Draw into a container, and return copies of the messages that were sent."""
    messages: list[ForwardMsg] = []
    send = context.enqueue

    def send_and_record(message: ForwardMsg) -> None:
        send(message)
        copied = ForwardMsg()
        copied.CopyFrom(message)
        if copied.ByteSize() >= _LARGE_BYTES:
            copied.hash = ""
        messages.append(copied)

    previous = context.__dict__.get("enqueue")
    context.__dict__["enqueue"] = send_and_record
    try:
        with place:
            render()
    finally:
        if previous is None:
            del context.__dict__["enqueue"]
        else:
            context.__dict__["enqueue"] = previous
    return messages
