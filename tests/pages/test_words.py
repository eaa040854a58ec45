"""The glossary on its own page, and dotted words on the others."""

from __future__ import annotations

import re

import pytest

from pages.shell import registry, terms
from tests.pages.conftest import OpenApp
from vitviz.glossary import BY_SLUG, TERMS

PAGE = "pages/classroom/words/page.py"


def texts(app) -> str:
    return "\n".join(part.value for part in app.main.markdown).replace("\N{NO-BREAK SPACE}", " ")


def test_a_word_says_its_shape_in_the_model_s_numbers_and_where_to_go(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", words__word="attention")
    assert "`(h, T, T)`" in texts(app) and "`(4, 65, 65)`" in texts(app)
    assert [link.proto.label for link in app.main.get("page_link")][0] == "On the page: Attention explorer"
    assert "https://arxiv.org/abs/1706.03762" in texts(app)
    app.selectbox(key="words.word").set_value("shifted_window").run()
    assert r"\lfloor M/2 \rfloor" in app.main.latex[0].value
    assert app.query_params["words.word"] in ("shifted_window", ["shifted_window"])
    for term in TERMS:
        assert term.symbol == "" or f"${term.symbol}$" in texts(app), term.word


def test_a_link_with_no_such_word_opens_another(open_app: OpenApp) -> None:
    app = open_app(PAGE, words__word="<script>alert(1)</script>")
    assert app.selectbox(key="words.word").value == "token"


@pytest.mark.parametrize("slug", ["patches", "attention", "block", "swin", "distillation"])
def test_words_are_dotted_where_they_first_stand(open_app: OpenApp, slug: str) -> None:
    entry = registry.BY_SLUG[slug]
    app = open_app(entry.path, model="preset:vit_digits", image="digits:0")
    head = "".join(html.proto.body for html in app.main.get("html") if "vv-text" in html.proto.body)
    named = re.findall(r'id="vv-word-(\w+)"', head)
    assert len(named) == len(set(named)) and {BY_SLUG[name].page for name in named} & {slug}
    words = [term.slug for term in TERMS if term.page == slug]
    assert set(words) <= set(named)


def test_only_text_and_our_own_words_become_html() -> None:
    said = terms.marked("<b>patch</b> & token", set())
    assert (
        said.startswith("&lt;b&gt;") and "&amp;" in said and "<b>patch</b>" in said
    )  # the one in its explanation
    assert said.count('class="vv-term"') == 2
