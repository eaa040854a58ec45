"""Check the glossary page and dotted terms on other pages."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.frame import glossary_terms
from pages.glossary.term_pictures import PICTURES
from pages.stores import lessons, registry
from tests.pages.conftest import OpenApp, captions, text
from vitviz import glossary
from vitviz.glossary import BY_SLUG, TERMS
from vitviz.plots.blob import open_blob, unpack_arrays
from vitviz.text import plain

PAGE = "pages/glossary/page.py"


def test_a_word_says_its_shape_in_the_model_s_numbers_and_where_to_go(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", words__word="attention")
    shape = next(caption.value for caption in app.caption if "Shape" in caption.value)
    assert "`(h, T, T)` = `(4, 65, 65)`" in shape.replace("\N{NO-BREAK SPACE}", " ")
    assert [link.proto.label for link in app.main.get("page_link")][
        0
    ] == f"Open page: {registry.BY_SLUG['attention'].title}"
    assert "https://arxiv.org/abs/1706.03762" in text(app)
    assert f"${BY_SLUG['attention'].symbol}$" in captions(app)


def test_a_link_with_no_such_word_opens_another(open_app: OpenApp) -> None:
    app = open_app(PAGE, words__word="<script>alert(1)</script>")
    assert app.subheader[0].value.strip("\N{WORD JOINER}") == "token"


def read_message(app: AppTest, key: str) -> bytes:
    """Return the message of a view, without the address of its files."""
    (sent,) = (node.proto.bytes for node in app.get("bidi_component") if node.proto.id.endswith(key))
    return bytes(sent)[4 + int.from_bytes(sent[:4], "little") :]


def test_the_strip_lists_the_terms_about_a_part(open_app: OpenApp) -> None:
    app = open_app(PAGE, words__part="E", words__word="softmax")
    listed = {row[0] for row in open_blob(read_message(app, "words.list"))[0]["terms"]}
    assert {"e", "filter", "principal_component"} <= listed and not {"softmax", "epoch"} & listed
    assert app.subheader[0].value.strip("\N{WORD JOINER}") == "softmax"  # a link's term stays open
    app.button_group(key="words.part").set_value("all").run()
    assert len(open_blob(read_message(app, "words.list"))[0]["terms"]) == len(TERMS)


def test_the_image_of_attention_shows_the_model_s_weights(open_app: OpenApp) -> None:
    app = open_app(PAGE, model="preset:vit_digits", image="digits:0", words__word="attention")
    arrays = unpack_arrays(read_message(app, "words.picture"))
    assert arrays["p0"].shape == (65, 64) and arrays["p1"].shape == (65, 65)
    np.testing.assert_allclose(arrays["p1"].sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(arrays["p1"][:, 1:], arrays["p0"])


def test_without_shipped_models_a_term_has_no_image_and_stays_readable(open_app: OpenApp) -> None:
    app = open_app(PAGE, words__word="soft_label")
    assert not [node for node in app.get("bidi_component") if node.proto.id.endswith("words.picture")]
    assert "smoothed by a temperature" in text(app)


def test_every_image_has_finite_values_and_a_term() -> None:
    def script() -> None:
        import numpy as np

        from pages.glossary import term_material, term_pictures
        from pages.selection.subject import load_subject
        from pages.stores import catalogue, session

        choice = catalogue.list_models(session.get_current())["preset:vit_digits"]
        material = term_material.Material(load_subject(choice, None, "digits:0", (0.5, 0.5)))
        shipped = {"teacher", "distillation", "hard_label", "soft_label", "validation", "snapshot", "dist"}
        for slug in term_pictures.PICTURES.keys() - shipped - {"relative_position_bias", "hybrid"}:
            for panel in term_pictures.PICTURES[slug](material):
                assert np.isfinite(panel.values).all(), (slug, panel.title)

    assert PICTURES.keys() == BY_SLUG.keys()
    assert not AppTest.from_function(script, default_timeout=300).run().exception


def dotted(app: AppTest) -> list[str]:
    """The words that explain themselves on a page, in order, by their slugs."""
    returned = [part.value for kind in ("markdown", "caption") for part in getattr(app.main, kind)]
    return [name for text in returned for name in re.findall(r"\(#word-(\w+) \"", text)]


@pytest.mark.parametrize("slug", ["patches", "attention", "block", "swin", "distillation"])
def test_words_are_dotted_where_they_first_stand(open_app: OpenApp, slug: str) -> None:
    entry = registry.BY_SLUG[slug]
    app = open_app(entry.path, model="preset:vit_digits", image="digits:0")
    named = dotted(app)
    assert len(named) == len(set(named)) and {BY_SLUG[name].page for name in named} & {slug}
    assert {term.slug for term in TERMS if term.page == slug} <= set(named)
    if slug != "swin":  # its view draws the finding of each step
        assert any("(#word-" in caption.value for caption in app.main.caption)
    assert sorted(dotted(app.run())) == sorted(named)  # the next run dots the same words and no other


def test_beside_a_lesson_a_page_s_question_dots_no_word(open_app: OpenApp) -> None:
    """Phones hide it there: its words are dotted where they are seen."""
    entry = registry.BY_SLUG["patches"]
    reported = {"model": "preset:vit_digits", "image": "digits:0"}
    app = open_app(entry.path, lesson="fifteen", stop="2", **reported)
    assert f":gray[{entry.question}]" in [part.value for part in app.main.markdown]
    app = open_app(entry.path, **reported)
    assert f":gray[{entry.question}]" not in [part.value for part in app.main.markdown]


def test_a_study_s_question_dots_no_form_that_it_uses_in_another_sense(open_app: OpenApp) -> None:
    app = open_app("pages/studies/page.py", studies__study="hyperparameter", model="preset:vit_digits")
    assert ":gray[Which value of a hyperparameter is best?]" in [part.value for part in app.main.markdown]


def test_a_shipped_lesson_s_words_are_dotted_and_a_stranger_s_are_not(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, page = "Each patch's query & *key* meet.", registry.BY_SLUG["lessons"].path
    stop = f'title = "One"\nlink = "lessons"\nwords = "{words}"\ntask = "Look."'
    text = f'title = "Week"\n[[stop]]\n{stop}\ncheck = {{ name = "page", slug = "home" }}\n'
    (tmp_path / "week.toml").write_text(text, "utf-8")
    monkeypatch.setenv("VITVIZ_LESSONS", str(tmp_path))
    theirs = open_app(page, lesson="class.week", stop="1")
    assert plain(words) in [part.value for part in theirs.main.markdown]
    monkeypatch.setattr(lessons, "SHIPPED", tmp_path)
    ours = open_app(page, lesson="week", stop="1")
    (returned,) = (part.value for part in ours.main.markdown if "meet" in part.value)
    assert returned.startswith("Each [patch](#word-patch ") and r" \& \*[key](#word-key " in returned


def test_what_a_fragment_draws_anew_it_dots_anew() -> None:
    def script() -> None:
        import streamlit as st

        from pages.controls import session_keys
        from pages.frame import glossary_terms

        returned = st.session_state["said"] = []
        glossary_terms.reset_terms()
        returned.append(glossary_terms.link_new_terms("A patch becomes a token."))

        @st.fragment
        def part() -> None:
            for _ in range(2):
                returned.append(glossary_terms.link_new_terms("A token meets a query."))
                returned.append(glossary_terms.link_new_terms("A key, a query and a patch."))
                st.session_state[
                    session_keys.LINKED_TERMS
                ].run = None  # as the next run finds it, of the fragment alone

        part()

    app = AppTest.from_function(script).run()
    returned = app.session_state["said"]
    assert [text.count("#word-") for text in returned] == [2, 1, 1, 1, 1]
    assert returned[3:] == returned[1:3]


def test_no_word_is_dotted_where_it_is_not_ours_or_not_text() -> None:
    for closed in (
        "`patch`",
        "$patch + E$ and $$token$$",
        "[a patch](https://patch.org)",
        "<patch>",
        ":material/token:",
        "# Token\n| patch |",
        f"**{plain('my token & patch')}**",
        "```\ntoken\n```",
    ):
        assert glossary_terms.link_terms(closed, set())[0] == closed
    returned, seen = glossary_terms.link_terms(f":gray[Token [CLS] is {plain('patch')}'s $E$]", {"E"})
    assert returned.startswith(':gray[[Token](#word-token "token (T, D): One vector') and seen == {
        "token",
        "[CLS]",
        "E",
    }
    assert '[\\[CLS\\]](#word-cls "\\[CLS\\] (D): ' in returned and returned.endswith(
        f"is {plain('patch')}'s $E$]"
    )


def test_a_word_that_may_mean_something_else_is_dotted_where_it_is_meant_alone() -> None:
    returned = "The largest value, on its own scale"
    assert glossary_terms.link_terms(returned, set(), glossary.OTHERWISE) == (returned, set())
    assert glossary_terms.link_terms(returned, set())[1] == {"value", "scale"}
    forms = {form.lower() for term in TERMS for form in term.spellings}
    assert forms >= glossary.OTHERWISE
    assert not any(":" in term.word for term in TERMS)  # terms.js parts a title there


@pytest.mark.parametrize(
    ("model", "has", "lacks"),
    [
        (
            "preset:vit_digits",
            ["token", "e", "cls", "position_embedding", "attention", "mlp", "layernorm"],
            ["dist"],
        ),
        ("preset:swin_digits", ["patch_merging", "attention"], ["cls"]),
        ("preset:cnn_digits", ["classification_head"], ["token", "attention"]),
    ],
)
def test_the_map_explains_the_words_that_it_writes(
    open_app: OpenApp, model: str, has: list[str], lacks: list[str]
) -> None:
    app = open_app("pages/start/page.py", model=model, image="digits:0")
    (line,) = [part.value for part in app.main.markdown if "Terms of this map" in part.value]
    words = re.findall(r"\(#word-(\w+) \"", line)
    assert set(has) <= set(words) and not set(lacks) & set(words)
