"""A stranger's names reach nothing that reads them as Markdown or HTML: every page, and every view of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message
from streamlit.runtime.state.common import TESTING_KEY
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from pages.shell import registry
from tests.hostile import HOSTILE, strangers_run
from tests.pages.conftest import OpenApp
from vitviz.training.runs import Run

# What is left of `HOSTILE` where somebody would read it: escaped, none of these stands there.
MARKDOWN = re.compile(r"(?<!\\)(?:<img|<a |<b>|\[link|\*\*bold|:red|\$x)")
HTML = re.compile("<img|<a |<b>bold")
# Fields whose text a browser shows as it is, or that hold no words.
AS_IT_IS = {
    "options",
    "value",
    "default",
    "placeholder",
    "alt",
    "id",
    "key",
    "url",
    "query_string",
    "raw_value",
}


@pytest.fixture
def hostile(trained: Path, tmp_path: Path) -> Run:
    shutil.copytree(trained, tmp_path / "stranger" / trained.name)
    return strangers_run(Run(tmp_path / "stranger" / trained.name), tmp_path / "runs")


def texts(message: Message, name: str = "") -> Iterator[tuple[str, str]]:
    """(field, text) of every string in a message."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated and not hasattr(value, "items") else [value]:
            if isinstance(one, Message):
                yield from texts(one, field.name)
            elif isinstance(one, str):
                yield field.name, one


def nodes(block: Block) -> Iterator[Any]:
    for child in block.children.values():
        yield child
        if isinstance(child, Block):
            yield from nodes(child)


def read_as_written(app: AppTest) -> list[str]:
    """What of this page's messages would be read as the stranger means it."""
    found = []
    for node in nodes(app._tree):
        kind = node.type
        for field, text in texts(node.proto) if node.proto is not None else ():
            if field in AS_IT_IS or kind in ("code",):
                continue
            text = text.replace("\\u003c", "<")  # as Plotly writes it
            read = HTML if kind in ("plotly_chart", "html") else MARKDOWN
            if "evil.test" in text and (sign := read.search(text)):
                found.append(f"{kind}.{field}: {text[max(0, sign.start() - 60) : sign.end() + 60]}")
    return found


def view_groups(app: AppTest) -> list[Any]:
    """The controls that choose a page's view."""
    return [one for one in app.main.get("button_group") if re.search(r"\.view(\._\d)?$", one.key or "")]


@pytest.mark.parametrize("entry", registry.PAGES, ids=lambda entry: str(entry.slug))
def test_no_view_of_a_page_reads_a_strangers_names(
    open_app: OpenApp, hostile: Run, entry: registry.PageEntry
) -> None:
    app = open_app(entry.path, model=f"run:{hostile.id}")
    found = {"": read_as_written(app)}
    for row, group in enumerate(view_groups(app)):
        for view in group.options:
            chosen = view_groups(app)[row]
            app.session_state[TESTING_KEY][chosen.id] = str  # it is chosen by its words
            chosen.set_value(view).run()
            assert not app.exception, (view, app.exception)
            found[view] = read_as_written(app)
    assert not any(found.values()), found


def test_what_is_read_as_written_is_found() -> None:
    app = AppTest.from_string(f"""
import streamlit as st
st.caption({HOSTILE!r})
st.button({HOSTILE!r})
st.text({HOSTILE!r})
""").run()
    assert len(read_as_written(app)) >= 2
