"""Draw the invitation to a class: its code, its link and the link as a QR code."""

import base64
import io
from functools import lru_cache
from html import escape
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from pages.classroom import membership
from vitviz.classes.codes import format_code
from vitviz.classes.shared_view import CLASS

# In presentation mode, the QR code and the code are large enough for the last row.
STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")


def build_address(path: str) -> str:
    """Return the address of a path of this server, as this browser knows the server."""
    url = urlsplit(st.context.url or "")
    base = url.path.rstrip("/").removesuffix(f"/{membership.SLUG}")
    return f"{urlunsplit((url.scheme, url.netloc, base, '', ''))}/{path}"


def draw(code: str) -> None:
    link = build_address(f"{membership.SLUG}?{CLASS}={code}")
    address = escape(link.partition("://")[2])
    st.html(
        f"<style>{STYLE}</style>"
        f'<div class="class-way"><img src="{encode_qr_code(link)}" alt="QR code of {escape(link)}">'
        f"<div>Code<strong>{format_code(code)}</strong><span>{address}</span></div></div>"
    )
    if urlsplit(link).hostname in ("localhost", "127.0.0.1", "::1"):
        st.caption(
            "Other devices cannot open this address: open the app and the class at this computer's network address."
        )


@lru_cache(maxsize=64)
def encode_qr_code(link: str) -> str:
    """Return the link as a QR code in a PNG data URL, dark on white in both themes, as cameras need it."""
    import segno

    png = io.BytesIO()
    segno.make(link, error="m", micro=False).save(png, kind="png", scale=8, border=4)
    return f"data:image/png;base64,{base64.b64encode(png.getvalue()).decode()}"
