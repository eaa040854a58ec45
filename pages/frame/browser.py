"""What the browser does on every page: the cookie that names the visit after a reload, and what listens to keys."""

from __future__ import annotations

from pages.stores import session
from pages.views.register import register
from vitviz.plots.blob import pack

_browser = register(__file__, "browser")


def keep() -> None:
    """Tells the browser which visit this is; draws nothing."""
    _browser(pack({"token": session.current().token}), key="shell.browser", height=1)
