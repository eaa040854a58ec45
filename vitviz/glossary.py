"""Read the terms of the field from glossary.toml: a sentence, symbol, shape, page and source each.

Shapes are products of named sizes (`SIZES`): a page inserts a model's numbers, and a test compares them with the
model's activations or weights (`record`).
"""

import re
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vitviz.config import ViTConfig

TermSize = Callable[[ViTConfig], int]


def _count_patches(config: ViTConfig) -> int:
    return config.grid[0] * config.grid[1]


SIZES: dict[str, TermSize] = {
    "N": _count_patches,
    "T": lambda config: _count_patches(config) + len(config.prefix_tokens),
    "P": lambda config: config.patch_size,
    "C": lambda config: config.in_chans,
    "P²C": lambda config: config.patch_size**2 * config.in_chans,
    "D": lambda config: config.embed_dim,
    "h": lambda config: config.num_heads,
    "d": lambda config: config.embed_dim // config.num_heads,
    "L": lambda config: config.depth,
    "K": lambda config: config.num_classes,
}
"""Sizes of a ViT by symbol; T = N + 1 tokens, N + 2 for a DeiT."""
OTHER_SIZES = ("M²", "(2M−1)²", "2C", "4C")  # sizes of a Swin with windows of M × M tokens


@dataclass(frozen=True)
class Term:
    """One term of the glossary.

    symbol: LaTeX without dollar signs; '' if it has none.
    shape: symbols of sizes, outermost first; () if it is not an array.
    record: name of a ViT's activation, or of a weight with the prefix 'weight:'.
    page: slug of the page about it.
    forms: other spellings in sentences.
    """

    word: str
    sentence: str
    group: str
    page: str
    source: str
    symbol: str = ""
    shape: tuple[str, ...] = ()
    record: str = ""
    forms: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """The term as written in permalinks, which keep its first name."""
        return re.sub(r"[^a-z0-9]+", "_", _FIRST_NAMES.get(self.word, self.word).lower()).strip("_")

    @property
    def spellings(self) -> tuple[str, ...]:
        """All spellings, longest first."""
        return tuple(sorted({self.word, *self.forms}, key=len, reverse=True))


_FIRST_NAMES = {
    "classifier head": "classification head",
    "gradient-weighted rollout": "gradient-weighted relevance",
}


def compute_shape(term: Term, config: ViTConfig) -> tuple[int, ...] | None:
    """Return a term's shape in a model's sizes; None if it has none or belongs to a Swin."""
    if not term.shape or any(size in OTHER_SIZES for size in term.shape):
        return None
    return tuple(SIZES[size](config) for size in term.shape)


OTHERWISE = frozenset(  # spellings with other meanings in sentences, e.g. a CNN's layers or filters
    "head layer layers value score scores scale filter filters register registers positions".split()
)


def mentions_term(text: str) -> bool:
    """Return True if a text contains any term."""
    return any(pattern.search(text) for pattern in _PATTERNS.values())


def find_terms(text: str, seen: set[str], but: Collection[str] = ()) -> list[tuple[int, int, Term]]:
    """Find the first occurrence of each term in a text, in order: (start, end, term).

    Args:
        seen: terms found before; updated.
    """
    occurrences: list[tuple[int, int, Term]] = []
    for term in sorted(TERMS, key=lambda term: -max(map(len, term.spellings))):  # 'causal mask' before 'mask'
        matches = () if term.word in seen else _PATTERNS[term.word].finditer(text)
        match = next((match for match in matches if match[0].lower() not in but), None)
        if match is not None and not any(a < match.end() and match.start() < b for a, b, _ in occurrences):
            occurrences.append((match.start(), match.end(), term))
            seen.add(term.word)
    return sorted(occurrences, key=lambda occurrence: occurrence[:2])


_GROUPED: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
GROUPS = tuple(_GROUPED)
TERMS = tuple(
    Term(word, group=group, **term | {name: tuple(term.get(name, ())) for name in ("shape", "forms")})
    for group, terms in _GROUPED.items()
    for word, term in terms.items()
)
BY_SLUG = {term.slug: term for term in TERMS}
_PATTERNS = {  # not in 'recipe E', 'Lecture E', 'Noisy Student' or 'cross-validation'
    term.word: re.compile(
        rf"(?<![\w\[])(?<!ecipe |cture |Noisy |cross-)(?:{'|'.join(map(re.escape, term.spellings))})(?![\w\]])",
        0 if term.word.isupper() or "[" in term.word else re.IGNORECASE,
    )
    for term in TERMS
}
