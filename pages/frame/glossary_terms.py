"""Words of the glossary in a page's own texts: dotted where they first stand, open on hover, focus and tap.

A dotted word is a link of Markdown with the explanation as its title, so it stands in the text's own message, is
reached by keys and moves nothing; terms.js opens it.
"""

from __future__ import annotations

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
ADDRESS = "#word-"  # of a dotted word's link, before the word's slug
_CLOSED = re.compile(  # where no word is dotted
    rf"""```.*?``` | `[^`\n]*`                      # code
    | \x24\x24.*?\x24\x24 | (?<!\\)\x24[^\x24\n]+(?<!\\)\x24       # formulas: a dollar is \x24 here
    | !?\[[^\]\n]*\]\([^)\n]*\) | <[^>\n]*>         # links, pictures, addresses
    | :[\w-]+/\w+: | :[\w-]+\[                       # icons, and what a colour begins with
    | {FOREIGN}.*?{FOREIGN}                         # another's words
    | ^(?:\#|\|)[^\n]*                             # headings, tables""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclass
class _Marked:
    """Which words a page has dotted, each with the fragment that did: '' for the page's own script."""

    words: dict[str, str] = field(default_factory=dict)
    run: object = None  # Streamlit's own cursors: new ones in every run
    begun: set[str] = field(default_factory=set)  # fragments that have written in this run

    def settle(self) -> str:
        """The fragment that writes now; what it dotted in its last run is free again: it is drawn anew."""
        context, here = get_script_run_ctx(), ThreadState.get().fragment_id or ""
        cursors = None if context is None else context.cursors
        if self.run is not cursors:
            self.run, self.begun = cursors, set()
        if here not in self.begun:
            self.begun.add(here)
            self.words = {word: owner for word, owner in self.words.items() if owner != here}
        return here


def begin() -> None:
    """A page begins: no word has been marked on it."""
    st.session_state[session_keys.MARKED] = _Marked()


def marked(text: str, but: Collection[str] = glossary.OTHERWISE) -> str:
    """A text of our own in Markdown, in which every term is dotted that has not stood on the page yet.

    Args:
        text: what is another's in it has gone through `vitviz.text.plain`.
        but: forms that are not dotted: those that the text may use in another sense.
    """
    return _marked(text, but, str)


def marked_as_it_is(text: str) -> str:
    """`marked` of our own text that holds no Markdown, such as a shipped lesson's."""
    return _marked(text, glossary.OTHERWISE, as_it_is)


def _marked(text: str, but: Collection[str], between: Callable[[str], str]) -> str:
    if popover.closed():  # nobody reads it
        return between(text)
    here = _now().settle()
    words = _now().words
    dotted, seen = with_terms(text, set(words), but, between)
    words |= dict.fromkeys(seen - set(words), here)
    return dotted


def write(text: str) -> None:
    """A sentence of our own in Markdown under a page's title, each of whose words is meant: the new ones dotted."""
    st.markdown(f":gray[{marked(text, ())}]")


def write_others(slug: str) -> None:
    """The words that a page is about and that have not stood on it yet, in a line."""
    seen = _now().words
    new = [term.word for term in glossary.TERMS if term.page == slug and term.word not in seen]
    write_line("Words of this page", {word: word for word in new})


def write_line(title: str, said: Mapping[str, str]) -> None:
    """Words in a line, each dotted whether it has stood on the page before or not; none: nothing.

    Args:
        said: how the page writes each, and the glossary's word for it.
    """
    here = _now().settle()
    found = {form: _BY_WORD[word] for form, word in said.items()}
    _now().words |= {word: here for word in said.values()}
    if found:
        line = " · ".join(_dotted(form, term) for form, term in found.items())
        st.markdown(f":small[:gray[{title}: {line}]]")


def with_terms(
    text: str, seen: set[str], but: Collection[str] = (), between: Callable[[str], str] = str
) -> tuple[str, set[str]]:
    """(A text in Markdown in which every term that is not among `seen` is dotted where it first stands, all seen).

    None is dotted in code, formulas, links, headings, tables and another's words. `between`: of what is no term.
    """
    parts, at = [], 0
    found, after = _found(text, frozenset(seen), frozenset(but))
    for start, end, term in found:
        parts += [between(text[at:start]), _dotted(text[start:end], term)]
        at = end
    return "".join([*parts, between(text[at:])]), set(after)


@lru_cache(maxsize=1024)  # a page says the same sentences again whenever it runs
def _found(
    text: str, before: frozenset[str], but: frozenset[str]
) -> tuple[list[tuple[int, int, Term]], frozenset[str]]:
    seen = set(before)
    open_text = _CLOSED.sub(lambda match: " " * len(match[0]), text)
    found = glossary.occurrences(open_text, seen, but)
    return found, frozenset(seen)


def _now() -> _Marked:
    found: _Marked = st.session_state.setdefault(session_keys.MARKED, _Marked())
    return found


def _dotted(said: str, term: Term) -> str:
    shape = f" ({', '.join(term.shape)})" if term.shape else ""
    name, title = (
        re.sub(r"([\[\]\"\\])", r"\\\1", part) for part in (said, f"{term.word}{shape}: {term.sentence}")
    )
    return f'[{name}]({ADDRESS}{term.slug} "{title}")'
