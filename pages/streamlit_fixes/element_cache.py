"""What follows from a few values alone is made once for all visits, and sent again as it was.

A card of links costs a hundredth of a page's run, and a page has up to a hundred such elements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext, ThreadState

from pages.stores.shared_results import Results

_LARGE = 1000  # bytes, of .streamlit/config.toml: what a browser may hold is asked about anew in every run
_made: Results[list[ForwardMsg]] = Results(1024)


def draw(place: DeltaGenerator, made: Callable[..., None], *of: Hashable, own: bool = False) -> None:
    """Draws `made(*of)` into a new container that nothing else is drawn into.

    `made` draws neither widgets nor views, stores nothing, and looks at nothing but its arguments.

    Args:
        made: a function of a module or of a page's script.
        own: whether something of it is a visitor's own; it is then made anew, for what is kept outlives the visit.

    Raises:
        ValueError: if it draws elsewhere than into the container.
    """
    context, cursor = get_script_run_ctx(suppress_warning=True), place._cursor
    if own or context is None or cursor is None:
        with place:
            made(*of)
        return
    here, path = ThreadState.get(), tuple(cursor.delta_path[:-1])
    drawn = False

    def recorded() -> list[ForwardMsg]:
        nonlocal drawn
        drawn = True
        return _recorded(context, place, path, lambda: made(*of))

    # By name: a page's own functions are new ones in every run.
    name = f"{made.__module__}.{made.__qualname__}"
    messages = _made.get((name, of, path, here.active_script_hash, here.fragment_id), recorded)
    if not drawn:
        for message in messages:
            again = ForwardMsg()
            again.CopyFrom(message)
            context.enqueue(again)


def _recorded(
    context: ScriptRunContext, place: DeltaGenerator, path: tuple[int, ...], made: Callable[[], None]
) -> list[ForwardMsg]:
    """Draws, and gives what was sent."""
    messages: list[ForwardMsg] = []
    send = context.enqueue

    def note(message: ForwardMsg) -> None:
        send(message)
        kept = ForwardMsg()
        kept.CopyFrom(message)
        if kept.ByteSize() >= _LARGE:
            kept.hash = ""
        messages.append(kept)

    before = context.__dict__.get("enqueue")
    context.__dict__["enqueue"] = note
    try:
        with place:
            made()
    finally:
        if before is None:
            del context.__dict__["enqueue"]
        else:
            context.__dict__["enqueue"] = before
    if any(tuple(message.metadata.delta_path[: len(path)]) != path for message in messages):
        raise ValueError(f"what is drawn still must lie in its container, at {path}")
    return messages
