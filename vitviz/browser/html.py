"""Write views as one self-contained HTML file: code, styles and data in it, no server and no network."""

import base64
import gzip
from collections.abc import Sequence
from html import escape

from vitviz.browser.modules import collect_modules, read_linker, read_styles
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
const {{ start }} = await import(urls['vitviz/browser/document.js']);
await start(urls);
</script>
</body>
</html>
"""


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
            ["vitviz/browser/document.js", *(file for file in files if file.endswith(".js"))]
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
