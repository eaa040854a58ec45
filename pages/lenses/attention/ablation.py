"""What is left out of a model: patches and heads, as a view says them and as a link holds them.

A link holds both in one value, `64.v_.16.g`: how many patches there are and which are left out, then the same of the
heads, layer by layer. Which are left out stands in base64url digits of six each, the first in a digit's lowest bit,
without the zeros at the end; 3,136 patches are 523 characters at most.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from pages.views.event_values import pair, several, whole

_DIGITS = ascii_uppercase + ascii_lowercase + digits + "-_"
_CODE = re.compile(r"([0-9]{1,5})\.([A-Za-z0-9_-]*)\.([0-9]{1,5})\.([A-Za-z0-9_-]*)")


@dataclass(frozen=True)
class Sizes:
    """What there is to leave out: a grid (rows, columns) of patches, and the heads of every layer."""

    grid: tuple[int, int]
    heads: tuple[int, ...]

    @property
    def patches(self) -> int:
        """How many patches there are."""
        return self.grid[0] * self.grid[1]


@dataclass(frozen=True)
class LeftOut:
    """Patches in reading order, and (layer, head), that are left out; all from 0."""

    patches: tuple[int, ...] = ()
    heads: tuple[tuple[int, int], ...] = ()

    @classmethod
    def said(cls, said: Mapping[str, Any], sizes: Sizes) -> LeftOut:
        """What a view says, without what there is none of."""
        patches = {i for i in map(whole, several(said.get("patches"))) if i is not None and i < sizes.patches}
        heads = {two for two in map(pair, several(said.get("heads"))) if two is not None}
        many = sizes.heads
        return cls(
            tuple(sorted(patches)),
            tuple(sorted(two for two in heads if two[0] < len(many) and two[1] < many[two[0]])),
        )

    @classmethod
    def parse(cls, text: str, sizes: Sizes) -> LeftOut | None:
        """What a link says; None for anything that `code` has not written for these sizes."""
        found = _CODE.fullmatch(text)
        if found is None or (int(found[1]), int(found[3])) != (sizes.patches, sum(sizes.heads)):
            return None
        patches, heads = _chosen(found[2], sizes.patches), _chosen(found[4], sum(sizes.heads))
        if patches is None or heads is None:
            return None
        pairs = [(layer, head) for layer, many in enumerate(sizes.heads) for head in range(many)]
        return cls(patches, tuple(pairs[i] for i in heads))

    def code(self, sizes: Sizes) -> str:
        """The same as a link holds it."""
        before = (0, *accumulate(sizes.heads))
        heads = [before[layer] + head for layer, head in self.heads]
        return f"{sizes.patches}.{_text(self.patches)}.{sum(sizes.heads)}.{_text(heads)}"


def _text(chosen: Collection[int]) -> str:
    """Numbers from 0 as bits of base64url digits."""
    values = [0] * (max(chosen, default=-1) // 6 + 1)
    for number in chosen:
        values[number // 6] |= 1 << number % 6
    return "".join(_DIGITS[value] for value in values)


def _chosen(text: str, count: int) -> tuple[int, ...] | None:
    """The numbers below `count` that base64url digits say; None where one is not below it."""
    if len(text) > -(-count // 6):
        return None
    bits: Sequence[int] = [
        6 * place + bit
        for place, digit in enumerate(text)
        for bit in range(6)
        if _DIGITS.index(digit) >> bit & 1
    ]
    return tuple(bits) if not bits or bits[-1] < count else None
