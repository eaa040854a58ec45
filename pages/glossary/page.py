"""Glossary page: each term with a sentence, symbol, shape in the selected model, page and source."""

from pathlib import Path

import streamlit as st

from pages.controls import widgets
from pages.frame import page, registry
from pages.selection import selection
from vitviz.config import ViTConfig
from vitviz.glossary import BY_SLUG, GROUPS, TERMS, Term, compute_shape
from vitviz.papers import list_links
from vitviz.text import plain, plural

NO_BREAK = ",\N{NO-BREAK SPACE}"  # keeps a shape on one line


def format_shape(sizes: tuple[str, ...] | tuple[int, ...]) -> str:
    """Return a shape as text: '(T, D)'."""
    return f"({NO_BREAK.join(str(size) for size in sizes)})"


def choose_word() -> Term:
    order = sorted(BY_SLUG, key=lambda slug: BY_SLUG[slug].word.strip("[").lower())
    slug = widgets.select("words.word", "Term", order, "token", format_func=lambda slug: BY_SLUG[slug].word)
    return BY_SLUG[slug]


def draw_word(term: Term) -> None:
    with st.container(border=True):
        st.markdown(f"**{plain(term.word)}** :gray[{term.group.lower()}]  \n{plain(term.sentence)}")
        with st.container(height=72, border=False, vertical_alignment="center"):
            if term.symbol:
                st.latex(term.symbol)
        if term.shape:
            st.markdown(describe_shape(term))
        with st.container(horizontal=True, vertical_alignment="center"):
            selection.link_to(term.page, f"Open page: {registry.BY_SLUG[term.page].title}")
            st.markdown(list_links()[term.source])


def describe_shape(term: Term) -> str:
    """Return the shape in symbols, and in numbers if the selected model is a ViT."""
    choice = selection.get_model_choice()
    shape = compute_shape(term, choice.config) if isinstance(choice.config, ViTConfig) else None
    numbers = f"; in {plain(choice.title)}: `{format_shape(shape)}`" if shape else ""
    return f"Shape `{format_shape(term.shape)}`{numbers}."


def draw_tables() -> None:
    """Draw all terms by group, as one text, so that nothing moves when formulas are rendered."""
    head = "| term | definition | symbol | shape | source |\n|---|---|---|---|---|"
    st.markdown("\n\n".join("\n".join([f"### {group}\n", head, *_format_rows(group)]) for group in GROUPS))


def _format_rows(group: str) -> list[str]:
    return [
        f"| **{plain(term.word)}** | {plain(term.sentence)} | {f'${term.symbol}$' if term.symbol else ''}"
        f" | {f'`{format_shape(term.shape)}`' if term.shape else ''}"
        f" | {list_links()[term.source]} |"
        for term in TERMS
        if term.group == group
    ]


page.header("words")
st.html(Path(__file__).with_name("page.css"))
draw_word(choose_word())
page.caption(
    f"{plural(len(TERMS), 'term')} in {plural(len(GROUPS), 'group')}. Shapes: N patches, T tokens (N + 1, or N + 2 for"
    " a DeiT), P pixels per patch side, C colour channels (in a Swin, channels per token), D channels per"
    " token, h heads of d channels, K classes, L blocks, M tokens per window side. Hover over a dotted term"
    " on any page to see its definition."
)
with st.container(key="words-tables"):
    draw_tables()
