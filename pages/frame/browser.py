"""Mount the script that every page runs: the session cookie and the keyboard."""

import streamlit as st

from pages.stores import session
from pages.stores.session_cookie import describe_cookie
from pages.views.register import register
from vitviz.plots.blob import pack

_browser = register(__file__, "browser")


def mount_browser() -> None:
    """Send the session's token to the browser; draw nothing."""
    cookie = describe_cookie(session.get_current().token, st.context.cookies, st.context.url)
    _browser(pack(cookie), key="shell.browser", height=1)
