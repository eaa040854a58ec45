"""Answer a page's address with a document that preloads the page's modules.

Without this fix (Streamlit 1.67): the browser finds the modules of widgets, figures and views step by step, in some
eighty requests after the page's first messages, and asks for the server below the page's own address first, where two
requests fail with 404. The document here is Streamlit's own with both added to its head.
"""

import re
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from html import escape
from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from streamlit import config

from pages.stores import registry
from pages.stores.moved_views import MOVED_PAGES
from pages.stores.registry import PageEntry
from pages.streamlit_fixes.required import view_files
from pages.streamlit_fixes.required.view_heights import load_heights

_PAGES, _BROWSER = view_files.FOLDERS
_STREAMLIT = Path(streamlit.__file__).with_name("static")
_LAYOUT = Path(__file__).with_name("layout.css")
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
_TOGGLE_PX, _SELECT_PX = 23, 64  # heights
# First words of the keys of elements that pages share.
_SHARED = ("model", "step", "nouns", "shell")
# Until the sidebar comes, which is before the title.
_RESERVED_SIDEBAR = (
    "@media (min-width: 768px) { html:not([data-vitviz-turned])"
    " [data-testid='stAppViewContainer']:not(:has([data-testid='stSidebar'], h1)) { padding-left: 280px; } }"
)
_IMPORT = re.compile(r"""\b(?:from|import)\s*["'](\.{1,2}/[^"']+\.js)["']""")
# Read by Streamlit's client as its module begins; where a policy forbids it the client looks for itself.
_SERVER = '<script>window.__streamlit = { BACKEND_BASE_URL: new URL(".", location.href).href }</script>'
_HEAD = 64_000  # characters: Plotly's module has 4.7 million
_VIEW = re.compile(r"^from pages\.views\.(\w+) import|\bdraw_(\w+)\(", re.MULTILINE)


def list_routes() -> list[Route]:
    """Return the route of every page's document, and of the base path without its slash."""
    base = config.get_option("server.baseUrlPath").strip("/")
    prefix = f"/{base}" if base else ""
    documents = {slug: slug for slug in registry.BY_SLUG} | dict.fromkeys(MOVED_PAGES, "studies")
    routes = [
        Route(f"{prefix}/{'' if address == 'home' else address}", _make_handler(slug))
        for address, slug in documents.items()
    ]
    return [*routes, Route(prefix, _add_slash)] if base else routes


async def _add_slash(request: Request) -> Response:
    """Redirect as Streamlit does: the document's addresses are relative to the base path with its slash.

    The target is relative, because a proxy may use another scheme, host or prefix.
    """
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{request.url.path.rpartition('/')[2]}/{query}", 307)


def _make_handler(slug: str) -> Callable[[Request], Awaitable[HTMLResponse]]:
    async def answer(_request: Request) -> HTMLResponse:
        return HTMLResponse(render_document(slug), headers={"Cache-Control": "no-cache"})

    return answer


@cache
def render_document(slug: str) -> str:
    """Return the HTML document of a page.

    Raises:
        KeyError: if there is no such page.
        RuntimeError: if this Streamlit has no such document.
    """
    entry = registry.BY_SLUG[slug]
    plain = (_STREAMLIT / "index.html").read_text("utf-8")
    head, end, body = plain.partition("</head>")
    if not end or "<title>Streamlit</title>" not in head:
        raise RuntimeError(
            "Streamlit's document has no head with its title: look at pages/streamlit_fixes/optional/preload.py again"
        )
    title = "vitviz" if slug == "home" else f"{entry.title} · vitviz"
    head = head.replace("<title>Streamlit</title>", f"<title>{escape(title)}</title>")
    server = () if slug == "home" else (_SERVER,)  # its address is the server's own
    style = f"<style>{_LAYOUT.read_text('utf-8')}{_reserve_room(entry)}</style>"
    return "\n".join(
        (
            head,
            style,
            *server,
            *_list_meta_tags(title, entry.question),
            *_list_preloads(entry, head),
            end + body,
        )
    )


def _reserve_room(entry: PageEntry) -> str:
    """Return CSS that reserves the sidebar's width, and the measured heights of elements while their modules load.

    A row wraps early: a toggle is as wide as its words, sections and what is as high as a select fill a phone's row.
    An element's key begins with its page, or with that of a page that became studies, which show elements of all pages.
    """
    rules = _RESERVED_SIDEBAR if entry.sidebar else ""
    for screen, query in enumerate(("min-width: 641px", "max-width: 640px")):
        keys: dict[tuple[int, str], list[str]] = {}
        for key, heights in load_heights().items():
            page = key.partition("-")[0].replace("on_picture", "on_your_picture")
            if entry.slug not in ("studies", page) and page not in _SHARED:
                continue
            height = heights[screen]
            fills = screen and (height >= _SELECT_PX or key.endswith("-view"))
            width = "9rem" if height == _TOGGLE_PX else "100%" if fills else "0"
            keys.setdefault((height, width), []).append(f".st-key-{key}")
        rules += f"@media ({query}) {{"
        for (height, width), classes in keys.items():
            rules += (
                f":is({','.join(classes)}):has(> [data-testid='stSkeleton'])"
                f"{{min-height:{height}px;max-height:{height}px;min-width:{width}}}"
            )
        rules += "}"
    return rules


def _list_meta_tags(title: str, question: str) -> list[str]:
    descriptions = {"description": question, "og:title": title, "og:description": question}
    return [f'<meta name="{escape(name)}" content="{escape(text)}">' for name, text in descriptions.items()]


def _list_preloads(entry: PageEntry, head: str) -> list[str]:
    """Return preload tags for the page's modules that the head lacks, and for the style sheet of all views.

    The largest modules, which draw figures and tables, start at once: parsing them takes longer than fetching them.
    """
    first = [_find_streamlit_module(name) for name in entry.drawn_by]
    rest = _follow_imports([*first, *map(_find_streamlit_module, _EVERYWHERE)])
    modules = [f"./static/js/{file.name}" for file in rest if file not in first and file.name not in head]
    modules += [_find_url(file) for file in _follow_imports(_list_view_files(entry))]
    frame = _find_url(_BROWSER / "base.css")
    return [
        *(f'<link rel="modulepreload" crossorigin href="{escape(module)}">' for module in modules),
        f'<link rel="preload" as="fetch" crossorigin href="{escape(frame)}">',
        *(
            f'<script type="module" crossorigin src="./static/js/{escape(module.name)}"></script>'
            for module in first
        ),
    ]


def _find_url(file: Path) -> str:
    """Return the address of a view's file, relative to a page."""
    return f"./_stcore/bidi-components/{view_files.COMPONENT}/{file.relative_to(view_files.ROOT).as_posix()}"


def _find_streamlit_module(name: str) -> Path:
    """Return the Streamlit module that draws a kind of element; its file name ends in a hash.

    Raises:
        RuntimeError: if this Streamlit has none of the name.
    """
    file = next((_STREAMLIT / "static/js").glob(f"{name}.*.js"), None)
    if file is None:
        raise RuntimeError(
            f"Streamlit has no module {name}: look at pages/streamlit_fixes/optional/preload.py again"
        )
    return file


def _list_view_files(entry: PageEntry) -> list[Path]:
    """Return the JavaScript files of all pages, of this page and of the shared views that it imports or draws."""
    beside = _PAGES / entry.folder
    text = "\n".join(file.read_text("utf-8") for file in sorted(beside.glob("*.py")))
    shared = {module or drawn for module, drawn in _VIEW.findall(text)}
    files = [folder / f"{name}.js" for name in sorted(shared) for folder in (_PAGES / "views", _BROWSER)]
    page_files = sorted(beside.glob("*.js"))
    return [_PAGES / "views/base.js", _PAGES / "frame/browser.js", *page_files, *filter(Path.exists, files)]


def _follow_imports(files: Iterable[Path]) -> list[Path]:
    modules: dict[Path, None] = {}
    waiting = [file.resolve() for file in files]
    while waiting:
        file = waiting.pop(0)
        if file not in modules:
            modules[file] = None
            waiting += _list_imports(file)
    return list(modules)


@cache
def _list_imports(file: Path) -> list[Path]:
    with file.open(encoding="utf-8") as text:
        return [(file.parent / name).resolve() for name in _IMPORT.findall(text.read(_HEAD))]
