"""Messages that a browser keeps: hashed as Streamlit's are told apart, bounded in number."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils import script_run_context

from pages.streamlit_fixes.optional import browser_messages


@pytest.mark.parametrize(
    ("size", "alone", "held", "others", "cacheable"),
    [
        (100_000, [], False, 299, True),
        (100_000, ["f"], False, 0, False),
        (100_000, ["f"], True, 0, True),
        (100_000, [], False, 300, False),
        (100_000, [], True, 300, True),
        (2000, [], False, 149, True),
        (2000, [], False, 150, False),
        (2000, [], True, 150, True),
        (500, [], False, 0, False),
    ],
)
def test_a_browser_holds_what_pages_show_up_to_a_bound_and_not_what_polls_bring(
    monkeypatch: pytest.MonkeyPatch, size: int, alone: list[str], held: bool, others: int, cacheable: bool
) -> None:
    browser_messages.install()
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * size
    twin = ForwardMsg()
    twin.CopyFrom(message)
    browser_messages.hash_message(twin)
    known = {twin.hash} if held else set()
    context = SimpleNamespace(
        fragment_ids_this_run=alone, cached_message_hashes=frozenset(known | {str(i) for i in range(others)})
    )
    monkeypatch.setattr(script_run_context, "get_script_run_ctx", lambda **_: context)
    script_run_context.populate_hash_if_needed(message)  # type: ignore[attr-defined]
    assert message.metadata.cacheable == cacheable


def test_a_message_has_a_name_of_its_own_and_the_same_where_it_is_the_same() -> None:
    """Where it stands does not count: a browser that has it draws nothing anew."""
    found = []
    for body, path in (("a", 1), ("b", 1), ("a", 2), ("a" * 5000, 1), ("a" * 5000, 3)):
        message, plain = ForwardMsg(), ForwardMsg()
        for one, name in ((message, browser_messages.hash_message), (plain, browser_messages._populate_hash)):
            one.delta.new_element.markdown.body = body
            one.metadata.delta_path[:] = [0, path]
            name(one)
        assert message.metadata == plain.metadata and message.delta == plain.delta
        found.append((message.hash, message.metadata.cacheable))
    assert found[0] == found[2] != found[1] and found[3] == found[4] != found[0]
    assert [held for _, held in found] == [False, False, False, True, True]
    started = ForwardMsg()
    started.new_session.name = "app"
    browser_messages.hash_message(started)
    assert started.hash and not started.metadata.cacheable
