"""The field's words: each with a sentence, its symbol, its shape in this model's numbers, its page and its source."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from pages.controls import widgets
from pages.frame import page, registry
from pages.selection import selection
from vitviz.config import ViTConfig
from vitviz.glossary import BY_SLUG, GROUPS, SOURCES, TERMS, Term, numbers
from vitviz.text import plain, plural

# Formulas take their room before the code that sets them has come. On a phone, or at 150 %, a row of the tables is a
# paragraph: the word, its sentence, what is known of it.
STYLE = """
.st-key-words-tables { flex: none !important; min-height: 100vh; }
[data-testid='stMarkdownContainer'] table { table-layout: fixed; }
[data-testid='stMarkdownContainer'] :is(th, td):nth-child(1) { width: 15%; }
[data-testid='stMarkdownContainer'] :is(th, td):nth-child(2) { width: 39%; }
[data-testid='stMarkdownContainer'] :is(th, td):nth-child(3) { width: 19%; }
[data-testid='stMarkdownContainer'] :is(th, td):nth-child(4) { width: 10%; }
[data-testid='stMarkdownContainer'] td { height: 4rem; }
[data-testid='stMarkdownContainer'] td:nth-child(3) { line-height: 1; white-space: nowrap; overflow: hidden; }
@media (max-width: 1000px) {
  [data-testid='stMarkdownContainer'] thead { display: none; }
  [data-testid='stMarkdownContainer'] :is(table, tbody, tr) { display: block; }
  [data-testid='stMarkdownContainer'] tr { padding: 8px 0; border-bottom: 1px solid rgb(128 128 128 / 0.3); }
  [data-testid='stMarkdownContainer'] td { display: inline-block; border: 0; padding: 2px 12px 2px 0;
    width: auto !important; height: auto; }
  [data-testid='stMarkdownContainer'] td:nth-child(3) { display: block; height: 2rem; }
  [data-testid='stMarkdownContainer'] td:is(:nth-child(1), :nth-child(2)) { display: block; }
  [data-testid='stMarkdownContainer'] td:empty { display: none; }
}
"""
NO_BREAK = ",\N{NO-BREAK SPACE}"  # a shape stays on one line of a narrow column


@dataclass(frozen=True)
class Choice(widgets.Chosen, page="words"):
    """Which word is open, by its slug."""

    word: str


def sized(signs: tuple[str, ...] | tuple[int, ...]) -> str:
    """A shape as it is written: '(T, D)'."""
    return f"({NO_BREAK.join(str(sign) for sign in signs)})"


def read_word() -> Term:
    """The control: a list that can be typed into."""
    order = sorted(BY_SLUG, key=lambda slug: BY_SLUG[slug].word.strip("[").lower())
    chosen = widgets.select(
        Choice.key("word"), "Word", order, "token", format_func=lambda slug: BY_SLUG[slug].word
    )
    return BY_SLUG[chosen]


def draw_word(term: Term) -> None:
    """One word with all that is known of it."""
    with st.container(border=True):
        st.markdown(f"**{plain(term.word)}** :gray[{term.group.lower()}]  \n{plain(term.sentence)}")
        with st.container(height=72, border=False, vertical_alignment="center"):
            if term.symbol:
                st.latex(term.symbol)
        if term.shape:
            st.markdown(shape_of(term))
        said, address = SOURCES[term.source]
        with st.container(horizontal=True, vertical_alignment="center"):
            selection.link_to(term.page, f"On the page: {registry.BY_SLUG[term.page].title}")
            st.markdown(f"[{said}]({address})")


def shape_of(term: Term) -> str:
    """The shape in signs, and in the chosen model's numbers where it is a ViT."""
    choice = selection.choice()
    found = numbers(term, choice.config) if isinstance(choice.config, ViTConfig) else None
    own = f"; in {plain(choice.title)} it is `{sized(found)}`" if found else ""
    return f"Shape `{sized(term.shape)}`{own}."


def draw_tables() -> None:
    """All words, group by group: one text, so that nothing below a table moves when the code for formulas has come."""
    head = "| word | in a sentence | symbol | shape | source |\n|---|---|---|---|---|"
    st.markdown("\n\n".join("\n".join([f"### {group}\n", head, *_rows(group)]) for group in GROUPS))


def _rows(group: str) -> list[str]:
    return [
        f"| **{plain(term.word)}** | {plain(term.sentence)} | {f'${term.symbol}$' if term.symbol else ''}"
        f" | {f'`{sized(term.shape)}`' if term.shape else ''}"
        f" | [{SOURCES[term.source][0]}]({SOURCES[term.source][1]}) |"
        for term in TERMS
        if term.group == group
    ]


page.header("Words", registry.BY_SLUG["words"].question)
st.html(f"<style>{STYLE}</style>")
draw_word(read_word())
page.caption(
    f"{plural(len(TERMS), 'word')} in {plural(len(GROUPS), 'group')}. In shapes N counts patches, T tokens (N + 1, or"
    " N + 2 for a DeiT), P pixels of a patch's side, C colours, D channels of a token, h heads of d channels each, K"
    " classes, L blocks, and M tokens of a Swin's window side. A dotted word on any page says the same in small."
)
with st.container(key="words-tables"):
    draw_tables()
