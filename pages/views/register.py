"""Register views: figures drawn in the browser, which respond to the pointer without the server.

A view is a JavaScript module beside the Python module that mounts it, with an optional style sheet of the same name;
CONTRIBUTING.md shows one. Its function receives {root, trigger, send, onUnmount} and returns a function that draws a
message {header, arrays, colors, width}. The kit (vitviz/browser/kit) draws what views share.

Rules: one `bytes` payload, an explicit key, text only through `el`, `tip` and `say` (never innerHTML), `trigger` and
`send` only for user input. The root carries `data-component` and, once drawn, `data-ready="true"`.

Messages contain no code. Streamlit would add a component's JavaScript and CSS to each message; here all views are one
component with the code base.js, and a message begins with the address of its view. The browser fetches base.js, the
view and its imports once per session, from Streamlit's route for component files (`view_files`).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from pages.streamlit_fixes.required.view_files import COMPONENT, ROOT, serve_files
from pages.streamlit_fixes.required.view_heights import load_heights
from vitviz.plots.blob import name_files, read_files

Height = int | Literal["stretch", "content"]
MESSAGES = "_messages"  # session key: messages of the page's views by key, for a file to take along
_OF_THE_SERVER = (  # views that are useless without it
    *(f"pages/{name}" for name in ("frame/", "lessons/", "classroom/", "lenses/two_images/second_")),
    *("pages/glossary/term_list", "pages/exercises/tiles"),
)


@dataclass(frozen=True)
class RegisteredView:
    """A registered view, known by the beginning of its messages.

    Its result has an attribute per state and per trigger (None without an event).

    needs_server: no downloaded page holds it.
    """

    files: bytes
    needs_server: bool

    def __call__(
        self,
        message: bytes,
        *,
        key: str,
        height: Height = "content",
        states: tuple[str, ...] = (),
        triggers: tuple[str, ...] = (),
        on_change: Callable[[], None] | None = None,
    ) -> Any:
        callbacks: dict[str, Any] = {
            f"on_{event}_change": on_change or _ignore_event for event in (*states, *triggers)
        }
        if not self.needs_server:
            get_messages()[key] = self.files + message
        serve_files()
        initial_height = get_reserved_height(key) if height == "content" else height
        return _create_component()(data=self.files + message, key=key, height=initial_height, **callbacks)


def encode_address(beside: str, name: str, *styles: str) -> bytes:
    """Encode the beginning of a message, which names a view's files below the checkout.

    Raises:
        ValueError: if the view has no such module or style sheet.
    """
    folder = Path(beside).resolve().parent
    default_style = [name] if (folder / f"{name}.css").exists() else []
    files = [
        folder / f"{name}.js",
        *((folder / f"{style}.css").resolve() for style in styles or default_style),
    ]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        raise ValueError(f"expected a view's files beside {beside}, missing: {', '.join(missing)}")
    return name_files([file.relative_to(ROOT).as_posix() for file in files])


def register(beside: str, name: str, *styles: str) -> RegisteredView:
    """Register the view NAME.js beside a file, with the named style sheets, or NAME.css if it exists."""
    files = encode_address(beside, name, *styles)
    return RegisteredView(files, read_files(files)[0].startswith(_OF_THE_SERVER))


def get_messages() -> dict[str, bytes | Callable[[], bytes]]:
    """Return the messages of the page's views by key, or functions that make them; `page.header` empties it."""
    messages: dict[str, bytes | Callable[[], bytes]] = st.session_state.setdefault(MESSAGES, {})
    return messages


def get_reserved_height(key: str) -> Height:
    """Return the height in px that is reserved for a view until it has drawn, 'content' if unknown.

    benchmarks/layout_shift.py measures the heights, on a screen of 1440 px and on a phone.
    """
    measured = load_heights().get(re.sub(r"[^\w-]", "-", key))
    if measured is None:
        return "content"
    wide, phone = measured
    return (phone if st.context.headers.get("Sec-Ch-Ua-Mobile") == "?1" else wide) or "content"


@cache
def _create_component() -> Any:
    return st.components.v2.component(COMPONENT, js="pages/views/base.js")


def _ignore_event() -> None:
    """Do nothing: a component reports only values that have a callback."""
