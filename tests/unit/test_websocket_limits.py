"""What one websocket may send: token buckets by hand-computed numbers, and messages of every kind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from pages.streamlit_fixes.required import websocket_limits
from pages.streamlit_fixes.required.websocket_limits import LimitSockets, SocketLimits, TokenBucket
from tests.robustness.fuzz.sockets import messages
from tests.visitor import run_apart

MESSAGES = messages()


def test_a_bucket_refills_at_its_rate_up_to_its_burst() -> None:
    bucket = TokenBucket(per_second=2, burst=3)
    assert [bucket.take(1, 10.0) for _ in range(4)] == [True, True, True, False]
    assert not bucket.take(1, 10.25)  # half a token
    assert bucket.take(1, 10.5) and not bucket.take(1, 10.5)  # 0.5 s x 2 = 1
    assert bucket.take(3, 60.0) and not bucket.take(1, 60.0)  # 3 and not 99


def test_a_refused_take_costs_nothing() -> None:
    bucket = TokenBucket(per_second=1, burst=4)
    assert not bucket.take(5, 0.0)
    assert bucket.take(4, 0.0)


def taken(limits: SocketLimits, data: bytes, count: int, per_second: float = float("inf")) -> int:
    """Return how many of so many messages were taken before the socket would have been closed."""
    for i in range(count):
        if limits.check(data, i / per_second)[1] is not None:
            return i
    return count


def test_the_sixty_first_rerun_at_once_closes_the_socket() -> None:
    assert taken(SocketLimits(), MESSAGES["rerun"], 100) == 60


def test_a_drag_beside_polls_is_never_closed() -> None:
    limits = SocketLimits()
    for tick in range(30 * 60):  # one minute of 30 reruns and 10 polls per second
        assert limits.check(MESSAGES["rerun"], tick / 30) == (True, None)
        if tick % 3 == 0:
            assert limits.check(MESSAGES["rerun of a fragment"], tick / 30) == (True, None)


def test_a_rerun_of_the_page_is_no_poll() -> None:
    message = BackMsg()
    message.rerun_script.is_auto_rerun = True
    assert taken(SocketLimits(), message.SerializeToString(), 100) == 60


def test_polls_that_a_stalled_network_held_back_arrive_at_once() -> None:
    assert taken(SocketLimits(), MESSAGES["rerun of a fragment"], 120) == 120  # 8 per second for 15 s


@pytest.mark.parametrize("kind", sorted(MESSAGES.keys() - {"garbage", "rerun", "rerun of a fragment"}))
def test_every_kind_is_bounded(kind: str) -> None:
    assert taken(SocketLimits(), MESSAGES[kind], 100) == (10 if kind == "file_urls_request" else 60)


def test_what_no_page_needs_does_not_reach_the_app() -> None:
    passed = {kind for kind, data in MESSAGES.items() if SocketLimits().check(data, 0.0)[0]}
    dropped = websocket_limits.IGNORED | {"empty", "garbage"}
    assert passed == MESSAGES.keys() - dropped and dropped < MESSAGES.keys()


@pytest.mark.parametrize(
    ("data", "code"), [(None, 1002), (b"\xff" * 36, 1002), (bytes(websocket_limits.MESSAGE_BYTES + 1), 1009)]
)
def test_what_is_no_message_closes_the_socket(data: bytes | None, code: int) -> None:
    passes, closed = SocketLimits().check(data, 0.0)
    assert not passes and closed is not None and closed[0] == code and len(closed[1]) <= 123  # RFC 6455


def test_a_large_message_takes_more_tokens() -> None:
    message = BackMsg()
    message.rerun_script.query_string = "x" * (10 * websocket_limits.TOKEN_BYTES - 100)  # 10 of 60 tokens
    assert taken(SocketLimits(), message.SerializeToString(), 10) == 6


def serve(
    frames: list[bytes], client_leaves: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what the app receives and the client is sent, where all frames have arrived before the app reads."""
    arrived = [
        {"type": "websocket.connect"},
        *({"type": "websocket.receive", "bytes": one} for one in frames),
    ]
    received: list[dict[str, Any]] = []
    sent: list[dict[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while not received or received[-1]["type"] != "websocket.disconnect":
            received.append(await receive())
        await send({"type": "websocket.send", "bytes": b"late"})

    async def receive() -> Any:
        if not arrived and not client_leaves:
            await asyncio.sleep(0.5)
        return arrived.pop(0) if arrived else {"type": "websocket.disconnect", "code": 1001}

    async def send(message: Any) -> None:
        sent.append(message)

    run_apart(LimitSockets(app)({"type": "websocket"}, receive, send))
    return received, sent


def test_a_flood_is_closed_before_the_app_handles_it() -> None:
    received, sent = serve([MESSAGES["rerun"]] * 10_000)
    assert [one["type"] for one in received] == ["websocket.connect", "websocket.disconnect"]
    (close,) = sent  # nothing follows it, or precedes it
    assert (close["type"], close["code"]) == ("websocket.close", 1008) and "Too many" in close["reason"]


def test_a_socket_on_which_many_messages_wait_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_limits, "MOST_WAITING", 10)
    received, (close,) = serve([MESSAGES["rerun"]] * 30)
    assert received[-1]["type"] == "websocket.disconnect" and close["code"] == 1008
    assert "wait" in close["reason"]


def test_fewer_messages_reach_the_app_in_order() -> None:
    frames = [MESSAGES[kind] for kind in ("rerun", "clear_cache", "app_heartbeat", "stop_script")]
    received, sent = serve(frames)
    assert [one.get("bytes") for one in received] == [None, frames[0], *frames[2:], None]
    assert received[-1]["code"] == 1001 and [one["type"] for one in sent] == ["websocket.send"]


def rerun(page: str = "", fragment: str = "", clicked: str = "") -> bytes:
    message = BackMsg()
    message.rerun_script.page_script_hash, message.rerun_script.fragment_id = page, fragment
    if clicked:
        message.rerun_script.widget_states.widgets.add(id=clicked, trigger_value=True)
    return message.SerializeToString()


def test_of_reruns_that_wait_only_those_that_differ_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [False] * 2
    monkeypatch.setattr(websocket_limits.SHARES, "may_start", lambda account: not refusals or refusals.pop())
    frames = [
        rerun("a"),
        rerun("a", "f"),
        rerun("a", clicked="go"),
        rerun("b", "f"),
        rerun("b", "g"),
        rerun("b", "f"),
    ]
    received, _ = serve(frames, client_leaves=False)
    # A run of page a serves what came before on that page, and no click or other page or fragment is lost.
    assert [one["bytes"] for one in received[1:-1]] == [frames[i] for i in (2, 3, 4, 5)]


def test_a_rerun_that_waits_is_dropped_when_its_client_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_limits.SHARES, "may_start", lambda account: False)
    received, _ = serve([rerun("a", clicked="go"), MESSAGES["stop_script"]])
    assert [one.get("bytes") for one in received] == [None, MESSAGES["stop_script"], None]
