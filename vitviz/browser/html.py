"""Write views as one self-contained HTML file: code, styles and data in it, no server and no network."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
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
{body}
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


@dataclass(frozen=True)
class Section:
    """One view of a file: its message (which names its files), heading and caption."""

    message: bytes
    heading: str = ""
    caption: str = ""


def render_html(title: str, sections: Sequence[Section]) -> str:
    """Return the HTML document of some views.

    Raises:
        FileNotFoundError: if a view's file is missing.
    """
    files = [file for section in sections for file in read_files(section.message)]
    styles = ["vitviz/browser/document.css", "vitviz/browser/base.css"]
    return _PAGE.format(
        title=escape(title),
        styles=read_styles([*styles, *(file for file in files if file.endswith(".css"))]),
        body="\n".join(map(_render_section, sections)),
        linker=read_linker(),
        modules=collect_modules(
            ["vitviz/browser/document.js", *(file for file in files if file.endswith(".js"))]
        ),
    )


def _render_section(section: Section) -> str:
    packed = base64.b64encode(gzip.compress(section.message, mtime=0)).decode()
    heading = f"<h2>{escape(section.heading)}</h2>" if section.heading else ""
    caption = f"<p>{escape(section.caption)}</p>" if section.caption else ""
    return f'<section>{heading}<div><script type="text/plain" data-message>{packed}</script></div>{caption}</section>'
