"""A browser that sends odd values for widgets does not fill the disk with tracebacks."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from pages.streamlit_fixes.required.log_limits import BURST
from tests.browser.conftest import serving
from tests.visitor import Answer, Visitor, run_apart

MESSAGES = 100
MOST_BYTES = 20_000  # per minute; 200 KB before


class Hostile(Visitor):
    """Note the ids of all widgets."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.widgets: set[str] = set()

    def _look(self, came: ForwardMsg, answer: Answer) -> None:
        element = came.delta.new_element
        kind = element.WhichOneof("type")
        self.widgets.add(getattr(getattr(element, kind), "id", "") if kind else "")
        super()._look(came, answer)

    async def send_odd_values(self) -> None:
        """Open a session and send values of other types for its widgets."""
        await self.open()
        await self.run()
        await self.run("live_lab")
        values = (
            {"bool_value": True},
            {"string_value": "\0<script>\x1b[2J"},
            {"json_value": "{no JSON"},
            {"double_value": float("nan")},
        )
        widgets = sorted(self.widgets - {""})
        for number in range(MESSAGES):
            message = BackMsg()
            self._fill(message, "")
            value = values[number // len(widgets) % len(values)]
            message.rerun_script.widget_states.widgets.append(
                WidgetState(id=widgets[number % len(widgets)], **value)
            )
            await asyncio.gather(self._ask(message), asyncio.sleep(1 / 25))  # below the limit of reruns
        for _ in range(2 * BURST):
            message = BackMsg()
            self._fill(message, "")
            message.rerun_script.fragment_id = "\x1b[2J\n2026-11-28 all is well " + "y" * 500_000
            await self._socket.send(message.SerializeToString())
            await asyncio.sleep(0.5)  # each counts as eight messages
        await self.close()


@pytest.mark.slow  # a server of its own
def test_odd_widget_values_write_few_lines(tmp_path: Path) -> None:
    with serving(tmp_path) as (port, _):
        began = time.monotonic()
        run_apart(Hostile(port).send_odd_values())
    written = (tmp_path / "server.log").read_text()
    assert "Uncaught app execution" in written, "the values must reach Streamlit, or nothing is shown"
    assert "The fragment with id \\x1b[2J\\n2026" in written, "nor are the ids"
    assert max(map(len, written.splitlines())) <= 500
    assert "Traceback" not in written and "\x1b" not in written
    minutes = 1 + (time.monotonic() - began) // 60  # ten lines of each kind are written per minute
    assert len(written) < MOST_BYTES * minutes
