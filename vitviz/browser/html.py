"""Write views as one self-contained HTML file, and collect the modules and styles that they need without a server."""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from vitviz.plots.blob import read_files

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{styles}
</style>
</head>
<body>
<header><h1>{title}</h1><button id="theme" type="button">Use the dark theme</button></header>
<main>
{lead}{body}
</main>
<footer>Made with vitviz.</footer>
<script type="module">
{linker}
const urls = link({modules});
const {{ start }} = await import(urls['vitviz/browser/view_frame.js']);
await start(urls);
</script>
</body>
</html>
"""
BROWSER = Path(__file__).parent
ROOT = BROWSER.parents[1]  # holds vitviz, and pages in a checkout
_IMPORT = re.compile(r"(?<=\bfrom ')(\.[^']+)(?=')")


def render_html(title: str, messages: Sequence[bytes], lead: str = "") -> str:
    """Return the HTML document of some views, with a sentence before them.

    Raises:
        FileNotFoundError: if a view's file is missing.
    """
    files = [file for message in messages for file in read_files(message)]
    styles = ["vitviz/browser/document.css", "vitviz/browser/base.css"]
    return _PAGE.format(
        title=escape(title),
        styles=read_styles([*styles, *(file for file in files if file.endswith(".css"))]),
        lead=f"<p>{escape(lead)}</p>\n" if lead else "",
        body="\n".join(map(_embed_message, messages)),
        linker=read_linker(),
        modules=collect_modules(
            ["vitviz/browser/view_frame.js", *(file for file in files if file.endswith(".js"))]
        ),
    )


def render_index(title: str, links: Sequence[tuple[str, str, str]]) -> str:
    """Return a page with links (file, title, question) to other files of its folder."""
    items = "\n".join(
        f'<li><a href="{escape(file)}">{escape(name)}</a><br>{escape(question)}</li>'
        for file, name, question in links
    )
    return render_html(title, []).replace("<main>\n", f"<main>\n<ul>\n{items}\n</ul>")


def _embed_message(message: bytes) -> str:
    packed = base64.b64encode(gzip.compress(message, mtime=0)).decode()
    return f'<section><div><script type="text/plain" data-message>{packed}</script></div></section>'


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
