"""Build the navigation's pages once per server, and translate addresses of views that have become studies."""

from collections.abc import Mapping
from copy import copy
from functools import lru_cache, partial
from itertools import groupby

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.frame import registry

# By address and view: the study. The first is the page's default view, if the whole page has moved.
STUDIES: dict[str, dict[str, str]] = {
    "data": {
        "sizes": "data_size",
        "time": "training_time",
        "augmented": "augmentation",
        "papers": "published_sizes",
    },
    "experiments": {
        "knob": "hyperparameter",
        "slip": "bug",
        "spot": "spot_the_bug",
        "gradient": "residuals",
        "norms": "norms",
        "positions": "positions",
    },
    "hybrids": {
        "training": "hybrid_training",
        "asked": "attention_over_convolutions",
        "flat": "one_token",
    },
    "distillation": {"worth": "teacher"},
    "fine_tuning": {"grown": "image_count", "ways": "tuning_methods"},
    "positions": {"matter": "positions"},
}
MOVED_PAGES = ("data", "experiments")


def list_pages() -> dict[str, list[StreamlitPage]]:
    """Return the pages by their group's title, for `st.navigation`."""
    # Copies: Streamlit notes in them which one this run may call.
    menu = {
        group: [copy(get_page(entry.slug)) for entry in entries]
        for group, entries in groupby(registry.PAGES, key=lambda entry: entry.group)
    }
    menu["Studies"] += [
        st.Page(partial(forward, slug), title="Studies", url_path=slug, visibility="hidden")
        for slug in MOVED_PAGES
    ]
    return menu


def forward(slug: str) -> None:
    """Switch to the study if the browser asks for a page or view that has become one."""
    query = st.query_params.to_dict()
    target, translated = translate(slug, query)
    if target != slug:
        st.switch_page(get_page(target), query_params=translated)


def get_page(slug: str) -> StreamlitPage:
    context = get_script_run_ctx()
    return _build_page(slug, "" if context is None else context.main_script_path)


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


def translate(slug: str, query: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return today's address of an address of any version."""
    views = STUDIES.get(slug, {})
    default = next(iter(views.values())) if slug in MOVED_PAGES else None
    study = views.get(query.get(f"{slug}.view", ""), default)
    if study is None:  # the page still draws the view
        return slug, dict(query)
    rest = {key: text for key, text in query.items() if key not in (f"{slug}.view", "hybrids.results")}
    if query.get("hybrids.results") == "1":  # the results were a toggle, not a prediction
        rest["hybrids.question"] = "shown"
    return "studies", {"studies.study": study, **rest}
