"""Mount the script that every page runs: the session cookie and the keyboard."""

from __future__ import annotations

from pages.stores import session
from pages.views.register import register
from vitviz.plots.blob import pack

_browser = register(__file__, "browser")


def mount_browser() -> None:
    """Send the session's token to the browser; draw nothing."""
    _browser(pack({"token": session.get_current().token}), key="shell.browser", height=1)
