"""Install the optional fixes of Streamlit; `VITVIZ_PLAIN_STREAMLIT=1` leaves all of them out.

A function of Streamlit is replaced only where it has the signature that a fix expects.
"""

import importlib
import inspect
import logging
import os
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import streamlit as st

_logged: set[str] = set()
_FIXES = ("lost_clicks", "stale_polls", "download_files", "caching", "browser_messages")


@dataclass(frozen=True)
class FunctionReplacement:
    """One function or property of Streamlit and its replacement.

    Args:
        owner: class or module that holds it.
        parameters: expected parameter names, e.g. 'self client_state'; '' for a property, None for a new attribute.
        by: the replacement; None for a function that a fix calls and does not replace.
    """

    owner: type | ModuleType
    name: str
    parameters: str | None
    by: Any = None

    def is_applied(self) -> bool:
        return self.by is not None and vars(self.owner).get(self.name) is self.by

    def fits(self) -> bool:
        current = getattr(self.owner, self.name, None)
        if self.parameters is None or isinstance(current, property):
            return self.parameters == (None if current is None else "")
        return callable(current) and " ".join(inspect.signature(current).parameters) == self.parameters


def apply(*replacements: FunctionReplacement) -> bool:
    """Apply replacements that depend on each other: all of them, or none if one does not fit.

    A replacement that does not fit is logged once. Repeated calls do nothing.
    """
    if all(change.is_applied() for change in replacements if change.by is not None):
        return True
    misfits = [change for change in replacements if not change.is_applied() and not change.fits()]
    for change in misfits:
        name = f"{change.owner.__name__}.{change.name}({', '.join((change.parameters or '').split())})"
        if name not in _logged:
            _logged.add(name)
            logging.getLogger(__name__).warning(
                "Streamlit %s has no %s: its own behaviour stays.", st.__version__, name
            )
    if misfits:
        return False
    for change in replacements:
        if change.by is not None:
            setattr(change.owner, change.name, change.by)
    return True


def is_enabled() -> bool:
    """Return True unless the operator asked for an unchanged Streamlit."""
    return os.environ.get("VITVIZ_PLAIN_STREAMLIT") != "1"


def install() -> None:
    """Install every fix that fits this version of Streamlit; repeated calls do nothing."""
    if is_enabled():
        _install_fixes()


@cache
def _install_fixes() -> None:
    """Install the fixes whose private imports exist in this version of Streamlit, once in this process."""
    for name in _FIXES:
        try:
            importlib.import_module(f"pages.streamlit_fixes.optional.{name}").install()
        except (ImportError, AttributeError) as error:
            logging.getLogger(__name__).warning(
                "Streamlit %s is unknown to pages/streamlit_fixes/optional/%s.py (%s): its own behaviour stays.",
                st.__version__,
                name,
                error,
            )
