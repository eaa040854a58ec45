"""How others come in: the code, the link, and the link as a picture that a phone reads."""

from __future__ import annotations

import base64
import io
from functools import lru_cache
from html import escape
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from pages.classroom import membership
from vitviz.classes.codes import spaced
from vitviz.classes.shared_view import CLASS

# While presenting, the picture and the code are read from the last row.
STYLE = """<style>
.class-way { display: flex; flex-wrap: wrap; gap: 24px; align-items: center; }
.class-way img { width: 14rem; max-width: 100%; height: auto; image-rendering: pixelated; border-radius: 8px; }
.class-way strong { display: block; font-size: 3rem; line-height: 1.1; font-weight: 650; white-space: nowrap;
  font-variant-numeric: tabular-nums; letter-spacing: 0.06em; }
.class-way span { overflow-wrap: anywhere; }
html[data-vitviz-present] .class-way { gap: 48px; }
html[data-vitviz-present] .class-way img { width: min(70vh, 42vw); }
html[data-vitviz-present] .class-way strong { font-size: min(7rem, 9vw); }
html[data-vitviz-present] .class-way span { font-size: 1.5rem; }
@media (max-width: 640px) { .class-way strong { font-size: 2.25rem; } }
</style>"""


def address(code: str) -> str:
    """The link that leads into a class, on the server as this browser knows it."""
    here = urlsplit(st.context.url or "")
    path = here.path.rstrip("/")
    base = path.removesuffix(f"/{membership.SLUG}") if path.endswith(f"/{membership.SLUG}") else path
    return urlunsplit((here.scheme, here.netloc, f"{base}/{membership.SLUG}", f"{CLASS}={code}", ""))


def draw(code: str) -> None:
    """Code, link and picture of the link."""
    link = address(code)
    shown = escape(link.partition("://")[2])
    st.html(
        f'{STYLE}<div class="class-way"><img src="{_picture(link)}" alt="QR code of {escape(link)}">'
        f"<div>Code<strong>{spaced(code)}</strong><span>{shown}</span></div></div>"
    )


@lru_cache(maxsize=64)
def _picture(link: str) -> str:
    """The link as a QR code: a PNG in the page itself, dark on white in both themes, for cameras want it so."""
    import segno

    held = io.BytesIO()
    segno.make(link, error="m", micro=False).save(held, kind="png", scale=8, border=4)
    return f"data:image/png;base64,{base64.b64encode(held.getvalue()).decode()}"
