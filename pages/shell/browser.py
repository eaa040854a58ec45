"""What the browser keeps for a visit: the cookie that names it after a reload, and one entry of history a page."""

from __future__ import annotations

from pages.stores import visit
from pages.views.register import register
from vitviz.plots.blob import pack

_browser = register(__file__, "browser")


def keep() -> None:
    """Tells the browser which visit this is; draws nothing."""
    _browser(pack({"token": visit.current().token}), key="shell.browser", height=1)
