"""The foot of every page: previous, next, and where the page stands in the model."""

from __future__ import annotations

import re

import pytest

from pages.frame import foot
from pages.stores import registry
from tests.pages.conftest import OpenApp

LARGE = {"plotly_chart": "PlotlyChart", "dataframe": "DataFrame", "code": "StreamlitSyntaxHighlighter"}
SMALL = {
    "swin": "preset:swin_digits",
    "distillation": "preset:deit_digits",
}


def test_the_pages_stand_in_the_order_of_a_lecture() -> None:
    order = [entry.slug for entry in registry.PAGES]
    model = ["patches", "filters", "positions", "block", "attention", "attention_distance"]
    assert order[:3] == ["home", "lessons", "words"] and order[3:9] == model
    groups = [entry.group for entry in registry.PAGES]
    assert groups == sorted(groups, key=registry.GROUPS.index)  # each group stands together, in its place


@pytest.mark.parametrize("entry", registry.PAGES, ids=lambda entry: entry.slug)
def test_every_page_says_where_it_stands(open_app: OpenApp, entry: registry.PageEntry) -> None:
    assert set(entry.parts) <= set(registry.PARTS)
    app = open_app(entry.path, model=SMALL.get(entry.slug, "preset:vit_digits"), image="digits:3")
    labels = [link.proto.label for link in app.main.get("page_link")]
    before, after = registry.get_neighbours(entry)
    wanted = [f"{word}: {page.title}" for word, page in (("Previous", before), ("Next", after)) if page]
    assert labels[-len(wanted) :] == wanted
    strips = [html.proto.body for html in app.main.get("html") if "vv-way" in html.proto.body]
    marked = [part for strip in strips for part in re.findall(r'class="vv-here" data-part="(\w+)"', strip)]
    assert tuple(marked) == entry.parts
    drawn = {module for kind, module in LARGE.items() if app.main.get(kind)}
    assert drawn == set(entry.drawn_by)  # what the page's document has the browser fetch


def test_the_sentence_names_what_is_marked() -> None:
    assert foot.describe_parts(("E",)) == "<p>Parts of the model on this page: E.</p>"
    assert "blocks, head and classes" in foot.describe_parts(("blocks", "head", "classes"))
    assert ": all." in foot.describe_parts(registry.PARTS)
