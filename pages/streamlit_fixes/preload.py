"""The document that a browser is given first: Streamlit's own, with what its page is about to ask for in its head.

Streamlit's document names the modules that every app needs. What a page needs beside them, Streamlit's own for a slider
or a figure and our views, a browser would learn of step by step: from the page's first messages, and from one module
about the next, some eighty requests after the messages have come. Named in the head, all of it comes while Streamlit's
modules are still being read.

And it says where the server is. Streamlit's client looks for it below the page's own address first: two requests that
are answered 'not found', and the next two only after them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from html import escape
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit import config

from pages.frame import registry
from pages.frame.registry import PageEntry
from pages.views import register

_PAGES = Path(__file__).resolve().parents[1]
_STREAMLIT = Path(streamlit.__file__).with_name("static")
# By what Streamlit draws that stands on every page: the sidebar, a row of controls, a view, the foot.
_EVERYWHERE = (
    "BidiComponent",
    "Button",
    "ButtonGroup",
    "Html",
    "ImageList",
    "NumberInput",
    "PageLink",
    "Selectbox",
    "Slider",
)
_IMPORT = re.compile(r"""\b(?:from|import)\s*["'](\.{1,2}/[^"']+\.js)["']""")
# Read by Streamlit's client as its module begins; where a policy forbids it the client looks for itself.
_SERVER = '<script>window.__streamlit = { BACKEND_BASE_URL: new URL(".", location.href).href }</script>'
_HEAD = 64_000  # characters: Plotly's module has 4.7 million
_VIEW = re.compile(r"^from pages\.views(?:\.(\w+))? import (.+)", re.MULTILINE)


def routes() -> list[Route]:
    """The address of every page, where its document is answered."""
    base = config.get_option("server.baseUrlPath").strip("/")
    prefix = f"/{base}" if base else ""
    return [
        Route(prefix + ("" if entry.slug == "home" else f"/{entry.slug}") or "/", _answer(entry.slug))
        for entry in registry.PAGES
    ]


def _answer(slug: str) -> Callable[[Request], Awaitable[HTMLResponse]]:
    async def answer(_request: Request) -> HTMLResponse:
        return HTMLResponse(document(slug), headers={"Cache-Control": "no-cache"})

    return answer


@cache
def document(slug: str) -> str:
    """A page's document.

    Raises:
        KeyError: if there is no such page.
        RuntimeError: if this Streamlit has no such document.
    """
    entry = registry.BY_SLUG[slug]
    plain = (_STREAMLIT / "index.html").read_text("utf-8")
    head, end, body = plain.partition("</head>")
    if not end or "<title>Streamlit</title>" not in head:
        raise RuntimeError(
            "Streamlit's document has no head with its title: look at pages/streamlit_fixes/preload.py again"
        )
    title = "vitviz" if slug == "home" else f"{entry.title} · vitviz"
    head = head.replace("<title>Streamlit</title>", f"<title>{escape(title)}</title>")
    server = () if slug == "home" else (_SERVER,)  # its address is the server's own
    return "\n".join((head, *server, *_said(title, entry.question), *_named(entry, head), end + body))


def _said(title: str, question: str) -> list[str]:
    """What stands beside a link to the page, where somebody sends it."""
    said = {"description": question, "og:title": title, "og:description": question}
    return [f'<meta name="{escape(name)}" content="{escape(text)}">' for name, text in said.items()]


def _named(entry: PageEntry, head: str) -> list[str]:
    """Links to the modules that a page asks for at first, without those that the head has, and to the frame's style.

    The largest, which draw figures and tables, are begun at once: reading them takes longer than fetching them.
    """
    first = [_of_streamlit(name) for name in entry.drawn_by]
    rest = _with_imports([*first, *map(_of_streamlit, _EVERYWHERE)])
    modules = [f"./static/js/{file.name}" for file in rest if file not in first and file.name not in head]
    modules += [_address(file) for file in _with_imports(_views(entry))]
    frame = _address(_PAGES / "views/base.css")
    return [
        *(f'<link rel="modulepreload" crossorigin href="{escape(one)}">' for one in modules),
        f'<link rel="preload" as="fetch" crossorigin href="{escape(frame)}">',
        *(
            f'<script type="module" crossorigin src="./static/js/{escape(one.name)}"></script>'
            for one in first
        ),
    ]


def _address(file: Path) -> str:
    """Where a view's file is served, from a page's address."""
    return f"./_stcore/bidi-components/{register.COMPONENT}/{file.relative_to(_PAGES).as_posix()}"


def _of_streamlit(name: str) -> Path:
    """The module by which Streamlit draws a kind of element; its file's name ends in a hash.

    Raises:
        RuntimeError: if this Streamlit has none of the name.
    """
    found = next((_STREAMLIT / "static/js").glob(f"{name}.*.js"), None)
    if found is None:
        raise RuntimeError(f"Streamlit has no module {name}: look at pages/streamlit_fixes/preload.py again")
    return found


def _views(entry: PageEntry) -> list[Path]:
    """The frame of all views, what is on every page, the page's own and those that it shares with others."""
    beside = _PAGES / entry.folder
    text = "\n".join(file.read_text("utf-8") for file in sorted(beside.glob("*.py")))
    shared = {name or names.split(" as ")[0] for name, names in _VIEW.findall(text)}
    files = [_PAGES / f"views/{name}.js" for name in sorted(shared)]
    own = sorted(beside.glob("*.js"))
    return [_PAGES / "views/base.js", _PAGES / "frame/browser.js", *own, *filter(Path.exists, files)]


def _with_imports(files: Iterable[Path]) -> list[Path]:
    """Modules and all that they import at once, each once."""
    found: dict[Path, None] = {}
    waiting = [file.resolve() for file in files]
    while waiting:
        file = waiting.pop(0)
        if file not in found:
            found[file] = None
            waiting += _imported(file)
    return list(found)


@cache
def _imported(file: Path) -> list[Path]:
    """What a module imports at once; in Streamlit's own it stands before all else."""
    with file.open(encoding="utf-8") as text:
        return [(file.parent / name).resolve() for name in _IMPORT.findall(text.read(_HEAD))]
