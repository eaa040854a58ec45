"""Build the navigation's pages once per server, and forward addresses of views that have become studies."""

from copy import copy
from functools import lru_cache, partial
from itertools import groupby

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.stores import registry
from pages.stores.moved_views import MOVED_PAGES, translate


def list_pages() -> dict[str, list[StreamlitPage]]:
    """Return the pages by their group's title, for `st.navigation`."""
    # Copies: Streamlit notes in them which one this run may call.
    return {group: [*map(copy, pages)] for group, pages in _build_menu(_get_script()).items()}


def forward(slug: str) -> None:
    """Switch to the study if the browser asks for a page or view that has become one."""
    query = st.query_params.to_dict()
    target, translated = translate(slug, query)
    if target != slug:
        st.switch_page(get_page(target), query_params=translated)


def get_page(slug: str) -> StreamlitPage:
    return _build_page(slug, _get_script())


def _get_script() -> str:
    context = get_script_run_ctx()
    return "" if context is None else context.main_script_path


@lru_cache(maxsize=4)
def _build_menu(script: str) -> dict[str, list[StreamlitPage]]:
    """Build the menu of the app with this main script; moved studies stand in it without being listed."""
    menu = {
        group: [_build_page(entry.slug, script) for entry in entries]
        for group, entries in groupby(registry.PAGES, key=lambda entry: entry.group)
    }
    menu["Studies"] += [
        st.Page(partial(forward, slug), title="Studies", url_path=slug, visibility="hidden")
        for slug in MOVED_PAGES
    ]
    return menu


@lru_cache(maxsize=64)
def _build_page(slug: str, script: str) -> StreamlitPage:
    """Build a page of the app with this main script, which its path is relative to."""
    entry = registry.BY_SLUG[slug]
    return st.Page(
        entry.path,
        title=entry.title,
        icon=f":material/{entry.icon}:",
        url_path=entry.slug,
        default=entry.slug == "home",
    )
