"""Mount what every page has: the style sheet, the session cookie and the keyboard."""

from pathlib import Path

import streamlit as st

from pages.stores import session
from pages.stores.session_cookie import describe_cookie
from pages.views.register import register
from vitviz.plots.blob import pack

_browser = register(__file__, "browser")


def mount_browser() -> None:
    """Send the style sheet and the session's token to the browser.

    The main script sends both: Streamlit drops what a page sent when another page begins.
    """
    st.html(Path(__file__).with_name("page.css"))
    cookie = describe_cookie(session.get_current().token, st.context.cookies, st.context.url)
    _browser(pack(cookie), key="shell.browser", height=1)
