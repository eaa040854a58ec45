"""Ablated patches and heads of a model, read from a view and encoded in a link.

A link holds both in one string, `64.v_.16.g`: the number of patches and the ablated ones, then the number of heads and
the ablated ones, layer by layer. The ablated indices are bits of base64url digits (six per digit, lowest bit first)
without trailing zeros; 3,136 patches take at most 523 characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

from pages.views.event_values import read_index, read_index_pair, read_list

_DIGITS = ascii_uppercase + ascii_lowercase + digits + "-_"
_CODE = re.compile(r"([0-9]{1,5})\.([A-Za-z0-9_-]*)\.([0-9]{1,5})\.([A-Za-z0-9_-]*)")


@dataclass(frozen=True)
class AblatableParts:
    """The grid (rows, columns) of patches and the number of heads in every layer."""

    grid: tuple[int, int]
    heads: tuple[int, ...]

    @property
    def patches(self) -> int:
        return self.grid[0] * self.grid[1]


@dataclass(frozen=True)
class Ablation:
    """Ablated patches in reading order and ablated heads as (layer, head); all count from 0."""

    patches: tuple[int, ...] = ()
    heads: tuple[tuple[int, int], ...] = ()

    @classmethod
    def from_view(cls, state: Mapping[str, Any], parts: AblatableParts) -> Ablation:
        """Read a view's state and drop indices that the model does not have."""
        indices, pairs = map(read_index, read_list(state.get("patches"))), read_list(state.get("heads"))
        patches = {i for i in indices if i is not None and i < parts.patches}
        heads = {pair for pair in map(read_index_pair, pairs) if pair is not None}
        return cls(
            tuple(sorted(patches)),
            tuple(
                sorted(
                    (layer, head)
                    for layer, head in heads
                    if layer < len(parts.heads) and head < parts.heads[layer]
                )
            ),
        )

    @classmethod
    def parse(cls, text: str, parts: AblatableParts) -> Ablation | None:
        """Decode a link; return None for anything that `encode` has not written for these parts."""
        match = _CODE.fullmatch(text)
        if match is None or (int(match[1]), int(match[3])) != (parts.patches, sum(parts.heads)):
            return None
        patches, heads = _decode(match[2], parts.patches), _decode(match[4], sum(parts.heads))
        if patches is None or heads is None:
            return None
        pairs = [(layer, head) for layer, count in enumerate(parts.heads) for head in range(count)]
        return cls(patches, tuple(pairs[i] for i in heads))

    def encode(self, parts: AblatableParts) -> str:
        offsets = (0, *accumulate(parts.heads))
        heads = [offsets[layer] + head for layer, head in self.heads]
        return f"{parts.patches}.{_encode(self.patches)}.{sum(parts.heads)}.{_encode(heads)}"


def _encode(indices: Collection[int]) -> str:
    digit_values = [0] * (max(indices, default=-1) // 6 + 1)
    for index in indices:
        digit_values[index // 6] |= 1 << index % 6
    return "".join(_DIGITS[digit] for digit in digit_values)


def _decode(text: str, count: int) -> tuple[int, ...] | None:
    """Decode base64url digits into indices; return None if one is not below `count`."""
    if len(text) > -(-count // 6):
        return None
    bits: Sequence[int] = [
        6 * position + bit
        for position, digit in enumerate(text)
        for bit in range(6)
        if _DIGITS.index(digit) >> bit & 1
    ]
    return tuple(bits) if not bits or bits[-1] < count else None
