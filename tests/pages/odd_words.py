"""What anybody with a connection can say to the views of a page, in place of what their code says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.state.session_state import STREAMLIT_INTERNAL_KEY_PREFIX
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree

from pages.views import register

# A number that nothing there has, and what is no number; tests/unit/test_event_values.py has more of them.
ODD: tuple[object, ...] = (10**8, [None, "x"], {"mark": "x", "at": [], "run": 7, "step": "x", "page": {}})


class Browser:
    """Stands between an app and its views: knows the events of each, and says what it is told to for all of them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._events: dict[str, list[str]] = {}
        self._said: object = None
        self._says = False
        component, states = register._create_component, ElementTree.get_widget_states

        def spied(*, key: str, **given: Any) -> Any:
            self._events[key] = [name[3:-7] for name in given if name.startswith("on_")]
            return component()(key=key, **given)

        patch.setattr(register, "_create_component", lambda: spied)
        patch.setattr(ElementTree, "get_widget_states", lambda tree: self._spoken(tree, states(tree)))

    @contextmanager
    def saying(self, value: object) -> Iterator[None]:
        """For the runs within, every view says this of every event and state that it has."""
        self._said, self._says = value, True
        yield
        self._says = False

    def _spoken(self, tree: ElementTree, states: WidgetStates) -> WidgetStates:
        ids = [node.proto.id for node in tree if node.type == "bidi_component"]
        for name in ids if self._says else ():
            events = next((self._events[key] for key in self._events if name.endswith(f"-{key}")), [])
            state, trigger = states.widgets.add(), states.widgets.add()
            state.id, state.json_value = name, json.dumps(dict.fromkeys(events, self._said))
            trigger.id = f"{STREAMLIT_INTERNAL_KEY_PREFIX}_{name}__events"
            trigger.json_trigger_value = json.dumps(
                [{"event": event, "value": self._said} for event in events]
            )
        return states


def deaf_to(app: AppTest, browser: Browser) -> list[object]:
    """What of `ODD` ends this page in an error, said in this run or kept for the next."""
    wrong: list[object] = []
    for value in ODD:
        with browser.saying(value):
            app.run()
        if app.exception:
            wrong.append(value)
    if app.run().exception:
        wrong.append("what was said before")
    return wrong
