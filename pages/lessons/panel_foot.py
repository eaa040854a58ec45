"""The panel's foot in the browser: it tells the server when the address has changed, and begins to present."""

from __future__ import annotations

from collections.abc import Mapping

from pages.views.register import register
from vitviz.plots.blob import pack

_foot = register(__file__, "panel_foot")


def foot(link: Mapping[str, str], done: bool, *, key: str) -> None:
    """Mounts it.

    Args:
        link: what the panel has looked at; another address asks it to look again.
        done: whether there is nothing more to look for.
    """
    _foot(pack({"link": sorted(map(list, link.items())), "done": done}), key=key, triggers=("look",))
