"""Glossary page: a list of terms to search and to filter, and a card that draws the selected one."""

from pathlib import Path

import streamlit as st

from pages.controls import widgets
from pages.frame import page
from pages.glossary import term_material, term_pictures
from pages.glossary.term_material import Material
from pages.glossary.term_pictures import PICTURES
from pages.selection import selection
from pages.stores import registry
from pages.views.event_values import read_events
from pages.views.register import register
from vitviz.config import ViTConfig
from vitviz.glossary import BY_SLUG, GROUPS, TERMS, Term, compute_shape
from vitviz.papers import list_links
from vitviz.plots.blob import pack
from vitviz.text import plain

STYLE = Path(__file__).with_suffix(".css")
KEY, LIST = "words.word", "words.list"
NO_BREAK = ",\N{NO-BREAK SPACE}"  # keeps a shape on one line
ALL = "all"
PARTS = {
    "image": "patch patchify receptive_field",
    "patches": "patch token embedding patchify window patch_merging hybrid",
    "E": "embedding e filter principal_component hybrid batchnorm",
    "positions": "position_embedding sinusoidal_positions rotary_position_embedding cosine_similarity"
    " relative_position_bias",
    "blocks": " ".join(
        term.slug for term in TERMS if term.group in ("Attention", "Inside a block", "Interpretation", "Swin")
    ),
    "head": "cls dist readout classification_head logit logit_lens layernorm",
    "classes": "logit cross_entropy distillation teacher student hard_label soft_label gradient_weighted_relevance",
}
"""Slugs of the terms about each part of the model; terms about training belong to none."""

_list = register(__file__, "term_list")
_picture = register(__file__, "term_picture")


def format_shape(sizes: tuple[str, ...] | tuple[int, ...]) -> str:
    """Return a shape as text: '(T, D)'."""
    return f"({NO_BREAK.join(str(size) for size in sizes)})"


def choose_terms() -> tuple[Term, ...]:
    """Draw the model's parts as a strip, and return the terms about the selected one."""
    part = widgets.segmented(
        "words.part",
        "Part of the model",
        {ALL: "All terms"} | {part: part for part in registry.PARTS},
        label_visibility="collapsed",
    )
    return tuple(term for term in TERMS if part == ALL or term.slug in PARTS[part].split())


def choose_term(terms: tuple[Term, ...]) -> Term:
    """Draw the list of terms and return the selected one, which may be one that the strip hides."""
    clicked = str(read_events(LIST).get("term") or "")
    if clicked in BY_SLUG:
        widgets.set_control(KEY, clicked)
    slug = widgets.resolve_option(KEY, tuple(BY_SLUG), "token")
    widgets.store_value(KEY, slug)
    ordered = [term for group in GROUPS for term in terms if term.group == group]
    rows = [[term.slug, term.word, term.group, " ".join((term.sentence, *term.forms))] for term in ordered]
    _list(pack({"terms": rows, "selected": slug}), key=LIST, triggers=("term",))
    return BY_SLUG[slug]


def draw_term(term: Term) -> None:
    """Draw the card: word, sentence, picture, formula, shape, page and source."""
    st.subheader(plain(term.word), anchor=False)
    st.markdown(plain(term.sentence))
    material = None
    if term.slug in PICTURES:
        with page.show_file_errors():
            material = term_material.load_material(term.slug)
        if material is not None:
            _picture(term_pictures.pack_term_image(term.slug, material), key="words.picture")
    symbol = f"${term.symbol}$" if term.symbol else ""
    if facts := " · ".join(part for part in (symbol, describe_facts(term, material)) if part):
        with st.container(horizontal=True):
            st.caption(facts)
    with st.container(horizontal=True, vertical_alignment="center"):
        selection.link_to(term.page, f"Open page: {registry.BY_SLUG[term.page].title}")
        st.markdown(list_links()[term.source])


def describe_facts(term: Term, material: Material | None) -> str:
    """Return the shape in symbols and in the model's numbers, and the model and image of the picture."""
    config = selection.get_model_choice().config if material is None else material.subject.model.config
    shape = compute_shape(term, config) if isinstance(config, ViTConfig) else None
    parts = []
    if term.shape:
        parts.append(
            f"Shape `{format_shape(term.shape)}`" + (f" = `{format_shape(shape)}`" if shape else "") + "."
        )
    if material is not None and term.slug not in term_pictures.WITHOUT_MODEL:
        parts.append(
            f"Shown: {material.subject.safe_title}, {plain(selection.get_image_title(material.subject.image))}."
        )
    return " ".join(parts)


page.header("words")
st.html(STYLE)
terms = choose_terms()
with st.container(horizontal=True, gap="medium", key="words-columns"):
    with st.container(width=300, key="words-list"):
        term = choose_term(terms)
    with st.container(border=True, width="stretch", key="words-card"):
        draw_term(term)
with st.expander("Notation"):
    page.markdown(
        "N patches, T tokens, P pixels per patch side, C channels, D channels per token, h heads of d channels,"
        " K classes, L blocks, M tokens per window side."
    )
