"""The pages in the navigation: Streamlit's own objects, made once a server and not anew in every run."""

from __future__ import annotations

from copy import copy
from functools import lru_cache
from itertools import groupby

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.frame import registry


def pages() -> dict[str, list[StreamlitPage]]:
    """The pages by the title of their group, as `st.navigation` wants them."""
    # Copies: Streamlit notes in them which one this run may call.
    return {
        group: [copy(page(entry.slug)) for entry in entries]
        for group, entries in groupby(registry.PAGES, key=lambda entry: entry.group)
    }


def page(slug: str) -> StreamlitPage:
    """The page at an address, to link to."""
    context = get_script_run_ctx()
    return _page(slug, "" if context is None else context.main_script_path)


@lru_cache(maxsize=64)
def _page(slug: str, script: str) -> StreamlitPage:
    """Of an app of this script, beside which the page looks for its file."""
    entry = registry.BY_SLUG[slug]
    return st.Page(
        entry.path,
        title=entry.title,
        icon=f":material/{entry.icon}:",
        url_path=entry.slug,
        default=entry.slug == "home",
    )
