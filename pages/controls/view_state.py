"""Keep the values that are changed in a view, from a link or from the view's events."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pages.controls import session_keys
from pages.views.event_values import read_events, read_fields

T = TypeVar("T")


@dataclass(frozen=True)
class ViewState(Generic[T]):
    """Values that are changed in a view; only its events with the same mark count."""

    mark: int
    subject: Any
    values: T


def read_state(
    key: str,
    event: tuple[str, str],
    subject: Any,
    begin: Callable[[ViewState[T] | None], T],
    parse: Callable[[dict[str, Any], T], T],
    *,
    linked: bool,
) -> ViewState[T]:
    """Return the current values of a view and the mark that its next events must carry.

    Args:
        key: of the state among the values of controls.
        event: the view's key and the name of its event.
        subject: another one begins anew.
        begin: return the first values, from the state before.
        parse: return an event's values, invalid ones from the second argument.
        linked: True if the address holds values, which begin anew.
    """
    states = session_keys.get_control_values()
    state: ViewState[T] | None = states.get(key)
    if state is None or linked or state.subject != subject:
        state = ViewState(1 if state is None else state.mark + 1, subject, begin(state))
    fields = read_fields(read_events(event[0]).get(event[1]))
    if fields.get("mark") == state.mark:
        state = replace(state, values=parse(fields, state.values))
    states[key] = state
    return state
