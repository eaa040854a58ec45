"""Write views as one self-contained HTML file, and collect the modules and styles that they need without a server.

The file's content policy lets its code read nothing but the file: no request, form or frame leaves it.
"""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from types import MappingProxyType

from vitviz.plots.blob import read_files

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{styles}
</style>
</head>
<body>
<header><h1>{title}</h1><button id="theme" type="button">Use the dark theme</button></header>
<p id="late" role="status">If nothing appears below, this file is incomplete or damaged, or this browser is too old:
save the page again, or open it in another browser.</p>
{links}<main>
{lead}{body}
</main>
<footer>Made with vitviz.</footer>
<script type="text/plain" id="modules">{modules}</script>
{weights}<script type="module">{code}</script>
</body>
</html>
"""
_START = """
const modules = await inflate(document.getElementById('modules').textContent);
const urls = link(JSON.parse(new TextDecoder().decode(modules)));
const { start } = await import(urls['vitviz/browser/view_frame.js']);
await start(urls);
"""
_POLICY = (
    "default-src 'none'; script-src 'sha256-{digest}' blob:{scripts}; worker-src blob:; style-src 'unsafe-inline';"
    " img-src data: blob:; connect-src 'none'; form-action 'none'; base-uri 'none'"
)
BROWSER = Path(__file__).parent
ROOT = BROWSER.parents[1]  # holds vitviz, and pages in a checkout
_IMPORT = re.compile(r"(?:(?<=\bfrom ')|(?<=\bnew URL\('))(\.[^']+\.js)(?=')")


def render_html(
    title: str,
    messages: Sequence[bytes],
    lead: str = "",
    weights: Mapping[str, bytes] = MappingProxyType({}),
    *,
    pages: Sequence[tuple[str, str]] = (),
    current: str = "",
    headings: Sequence[str] = (),
) -> str:
    """Return the HTML document of some views, with a sentence before them.

    Args:
        weights: checkpoints that the document holds, by the address under which messages name them.
        pages: the pages (file, title) of a site, whose checkpoints lie beside them as scripts (`render_weights`).
        current: the file of this page.
        headings: what stands over each message's view; '' for nothing, and no heading at all by default.

    Raises:
        FileNotFoundError: if a view's file is missing.
    """
    files = [file for message in messages for file in read_files(message)]
    styles = ["vitviz/browser/document.css", "vitviz/browser/base.css"]
    modules = collect_modules(
        ["vitviz/browser/view_frame.js", *(file for file in files if file.endswith(".js"))]
    )
    code = read_linker() + _START
    digest = base64.b64encode(sha256(code.encode()).digest()).decode()
    return _PAGE.format(
        policy=_POLICY.format(digest=digest, scripts=" 'self' file:" if pages else ""),
        title=escape(title),
        styles=read_styles([*styles, *(file for file in files if file.endswith(".css"))]),
        links=_render_links(pages, current),
        lead=f"<p>{escape(lead)}</p>\n" if lead else "",
        body="\n".join(map(_embed_message, messages, headings or [""] * len(messages))),
        modules=encode(modules.encode()),
        weights="".join(
            f'<script type="text/plain" data-weights="{escape(name)}">{encode(raw)}</script>\n'
            for name, raw in weights.items()
        ),
        code=code,
    )


def _render_links(pages: Sequence[tuple[str, str]], current: str) -> str:
    if not pages:
        return ""
    marks = {current: ' aria-current="page"'}
    items = "".join(
        f'<li><a href="{escape(file)}"{marks.get(file, "")}>{escape(name)}</a></li>' for file, name in pages
    )
    return f'<nav aria-label="Pages"><ul>{items}</ul></nav>\n'


def _embed_message(message: bytes, heading: str) -> str:
    above = f"<h2>{escape(heading)}</h2>" if heading else ""
    return f'<section>{above}<div><script type="text/plain" data-message>{encode(message)}</script></div></section>'


def render_weights(raw: bytes) -> str:
    """Return a checkpoint as the script that stored_weights.js runs: a file of the disk may load no other kind."""
    return f"document.currentScript.weights = '{encode(raw)}';\n"


def encode(raw: bytes) -> str:
    """Return bytes as text that `inflate` of module_loader.js reads: gzip in base64."""
    return base64.b64encode(gzip.compress(raw, mtime=0)).decode()


def collect_modules(files: Iterable[str]) -> str:
    """Return modules and all that they import as JSON [[name, source], …] for module_loader.js, an imported one first.

    Args:
        files: addresses below the folder that holds `vitviz`.
    """
    sources: dict[str, str] = {}

    def visit(file: Path) -> str:
        name = file.relative_to(ROOT).as_posix()
        if name not in sources:
            source = _IMPORT.sub(
                lambda match: visit((file.parent / match[1]).resolve()), file.read_text("utf-8")
            )
            sources[name] = source
        return name

    for name in files:
        visit((ROOT / name).resolve())
    return json.dumps([*sources.items()]).replace("<", "\\u003c")  # no source may end a script element


def read_styles(files: Iterable[str]) -> str:
    """Return the text of style sheets, each once."""
    return "\n".join((ROOT / name).read_text("utf-8") for name in dict.fromkeys(files))


def read_linker() -> str:
    """Return the source of module_loader.js."""
    return (BROWSER / "module_loader.js").read_text("utf-8")
