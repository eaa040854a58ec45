"""All that this app changes of Streamlit; on another Streamlit than the one it knows, what does not fit is left out."""

from __future__ import annotations

import importlib
import logging
from functools import cache
from types import ModuleType

import streamlit as st

_MODULES = ("guards", "download_files", "caching", "message_batching")


def install() -> None:
    """Makes every change that fits this Streamlit, once; every run of the app asks for it."""
    for module in _there():
        module.install()


@cache
def _there() -> list[ModuleType]:
    """The modules whose imports this Streamlit has, private ones among them."""
    found = []
    for name in _MODULES:
        try:
            found.append(importlib.import_module(f"pages.streamlit_fixes.{name}"))
        except (ImportError, AttributeError) as error:
            logging.getLogger(__name__).warning(
                "Streamlit %s is not one that pages/streamlit_fixes/%s.py knows (%s): its own behaviour stays.",
                st.__version__,
                name,
                error,
            )
    return found
