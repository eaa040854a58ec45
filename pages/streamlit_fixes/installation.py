"""Install the optional fixes of Streamlit; `VITVIZ_PLAIN_STREAMLIT=1` leaves all of them out."""

import importlib
import logging
import os
from functools import cache
from types import ModuleType

import streamlit as st

_FIXES = ("lost_clicks", "stale_polls", "download_files", "caching", "held_messages", "message_batching")


def is_enabled() -> bool:
    """Return True unless the operator asked for an unchanged Streamlit."""
    return os.environ.get("VITVIZ_PLAIN_STREAMLIT") != "1"


def install() -> None:
    """Install every fix that fits this version of Streamlit; repeated calls do nothing."""
    if is_enabled():
        for module in _load_fixes():
            module.install()


@cache
def _load_fixes() -> list[ModuleType]:
    """Import the fixes whose private imports exist in this version of Streamlit."""
    modules = []
    for name in _FIXES:
        try:
            modules.append(importlib.import_module(f"pages.streamlit_fixes.{name}"))
        except (ImportError, AttributeError) as error:
            logging.getLogger(__name__).warning(
                "Streamlit %s is unknown to pages/streamlit_fixes/%s.py (%s): its own behaviour stays.",
                st.__version__,
                name,
                error,
            )
    return modules
