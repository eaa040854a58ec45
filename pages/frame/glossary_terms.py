"""Link glossary terms in a page's texts to their explanations.

A term is a Markdown link with its explanation as title: it needs no further element, is reached by keyboard and
does not move the layout; glossary_terms.js opens it on hover, focus and tap.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from pages.controls import popover, session_keys
from vitviz import glossary
from vitviz.glossary import Term
from vitviz.text import FOREIGN, as_it_is

_BY_WORD = {term.word: term for term in glossary.TERMS}
ADDRESS = "#word-"  # address of a term's link, before its slug
_EXCLUDED = re.compile(  # where no term is linked
    rf"""```.*?``` | `[^`\n]*`                      # code
    | \x24\x24.*?\x24\x24 | (?<!\\)\x24[^\x24\n]+(?<!\\)\x24       # formulas: a dollar is \x24 fragment
    | !?\[[^\]\n]*\]\([^)\n]*\) | <[^>\n]*>         # links, images, addresses
    | :[\w-]+/\w+: | :[\w-]+\[                       # icons and colours
    | {FOREIGN}.*?{FOREIGN}                         # untrusted text
    | ^(?:\#|\|)[^\n]*                             # headings, tables""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclass
class _LinkedTerms:
    """The terms that a page has linked, each with the fragment that did: '' for the page's own script."""

    words: dict[str, str] = field(default_factory=dict)
    run: object = None  # Streamlit's cursors, which identify the run
    begun: set[str] = field(default_factory=set)  # fragments that have linked terms in this run

    def settle(self) -> str:
        """Return the current fragment's id, and release the terms that it linked in its last run."""
        context, fragment = get_script_run_ctx(), ThreadState.get().fragment_id or ""
        cursors = None if context is None else context.cursors
        if self.run is not cursors:
            self.run, self.begun = cursors, set()
        if fragment not in self.begun:
            self.begun.add(fragment)
            self.words = {word: owner for word, owner in self.words.items() if owner != fragment}
        return fragment


def reset_terms() -> None:
    """Forget the linked terms when a page begins."""
    st.session_state[session_keys.LINKED_TERMS] = _LinkedTerms()


def link_new_terms(
    text: str, but: Collection[str] = glossary.OTHERWISE, between: Callable[[str], str] = str
) -> str:
    """Return our own Markdown with every term linked that the page has not linked yet.

    Args:
        text: untrusted parts have passed `vitviz.text.plain`.
        but: forms that are not linked, because the text may use them in another sense.
        between: maps the text between terms.
    """
    if popover.is_closed():  # not shown
        return between(text)
    terms = _get_linked_terms()
    fragment = terms.settle()
    linked, seen = link_terms(text, set(terms.words), but, between)
    terms.words |= dict.fromkeys(seen - set(terms.words), fragment)
    return linked


def link_terms_verbatim(text: str) -> str:
    """Return our own plain text, such as a shipped lesson's, with new terms linked."""
    return link_new_terms(text, between=as_it_is)


def write_remaining_terms(slug: str) -> None:
    """Draw the page's terms that it has not linked yet, in one line."""
    seen = _get_linked_terms().words
    new = [term.word for term in glossary.TERMS if term.page == slug and term.word not in seen]
    write_terms("Terms of this page", {word: word for word in new})


def write_terms(title: str, forms: Mapping[str, str]) -> None:
    """Draw terms in one line, linked even if the page has linked them before.

    Args:
        forms: the page's form of each term and the glossary's word.
    """
    linked = _get_linked_terms()
    fragment = linked.settle()
    linked.words |= dict.fromkeys(forms.values(), fragment)
    if forms:
        line = " · ".join(_render_term(form, _BY_WORD[word]) for form, word in forms.items())
        st.markdown(f":small[:gray[{title}: {line}]]")


def link_terms(
    text: str, seen: set[str], but: Collection[str] = (), between: Callable[[str], str] = str
) -> tuple[str, set[str]]:
    """Return Markdown with every term outside `seen` linked once, and all terms seen.

    Code, formulas, links, headings, tables and untrusted text stay unchanged; `between` maps the text between terms.
    """
    parts, at = [], 0
    terms, after = _find_terms(text, frozenset(seen), frozenset(but))
    for start, end, term in terms:
        parts += [between(text[at:start]), _render_term(text[start:end], term)]
        at = end
    return "".join([*parts, between(text[at:])]), set(after)


@lru_cache(maxsize=1024)  # a page repeats its sentences in every run
def _find_terms(
    text: str, before: frozenset[str], but: frozenset[str]
) -> tuple[list[tuple[int, int, Term]], frozenset[str]]:
    seen = set(before)
    open_text = _EXCLUDED.sub(lambda match: " " * len(match[0]), text)
    return glossary.find_terms(open_text, seen, but), frozenset(seen)


def _get_linked_terms() -> _LinkedTerms:
    linked: _LinkedTerms = st.session_state.setdefault(session_keys.LINKED_TERMS, _LinkedTerms())
    return linked


@lru_cache(maxsize=1024)
def _render_term(form: str, term: Term) -> str:
    shape = f" ({', '.join(term.shape)})" if term.shape else ""
    name, title = (
        re.sub(r"([\[\]\"\\])", r"\\\1", part) for part in (form, f"{term.word}{shape}: {term.sentence}")
    )
    return f'[{name}]({ADDRESS}{term.slug} "{title}")'
