"""Measures that need no model: what a formula, a window or a mask gives, computed when it is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitviz.lessons.question_kinds import AtHand, Drag, Kind, Measured
from vitviz.text import percent, plural, signed

MOST_GRID = 16
MOST_BLOCKS = 16


class Always:
    """A measure that every model at hand can be asked, for it asks none."""

    def why_not(self, at: AtHand) -> str:
        """Never."""
        return ""


def within(name: str, value: float, low: float, high: float) -> None:
    """Raises ValueError where a parameter lies outside of its range."""
    if not low <= value <= high:
        raise ValueError(f"{name} lies in {low:g}..{high:g}, received {value:g}")


def end_of_scale(value: float) -> float:
    """Where a scale ends that does not tell what is asked for: the first power of ten twice as large or larger."""
    return 10.0 ** math.ceil(math.log10(2 * value))


@dataclass(frozen=True)
class SinusoidSimilarity(Always):
    """The cosine of two 1-D sinusoidal positions (Vaswani et al. 2017)."""

    first: int
    second: int
    dim: int = 64

    def __post_init__(self) -> None:
        within("first", self.first, 0, 255)
        within("second", self.second, 0, 255)
        within("dim", self.dim, 2, 512)
        if self.dim % 2:
            raise ValueError(f"dim is even, received {self.dim}")

    def kind(self, at: AtHand) -> Kind:
        """A cosine."""
        return Drag(-1.0, 1.0, 0.01)

    def measured(self, at: AtHand) -> Measured:
        """By the formula."""
        from vitviz.analysis.position_similarity import cosine_similarity
        from vitviz.sinusoids import sincos_1d

        table = cosine_similarity(sincos_1d(1 + max(self.first, self.second), self.dim))
        found = float(table[self.first, self.second])
        return Measured(
            found,
            f"The formula gives positions {self.first} and {self.second} a cosine of {signed(found, 4)} at width"
            f" {self.dim}: it depends on their distance, {abs(self.first - self.second)}, and on nothing else.",
        )


@dataclass(frozen=True)
class PatchCount(Always):
    """N = (S / P)², the patches of a square picture."""

    image_px: int
    patch_px: int

    def __post_init__(self) -> None:
        within("image_px", self.image_px, 4, 1024)
        within("patch_px", self.patch_px, 1, self.image_px)
        if self.image_px % self.patch_px:
            raise ValueError(f"patch_px divides image_px, received {self.patch_px} and {self.image_px}")

    def kind(self, at: AtHand) -> Kind:
        """A count, from 0."""
        side = self.image_px // self.patch_px
        return Drag(0, end_of_scale(side * side), 1, "patches")

    def measured(self, at: AtHand) -> Measured:
        """By the formula."""
        side = self.image_px // self.patch_px
        return Measured(
            side * side,
            f"{self.image_px} / {self.patch_px} = {side} patches along a side, so N = {side} × {side} ="
            f" {plural(side * side, 'patch', 'patches')}.",
        )


@dataclass(frozen=True)
class _Windows(Always):
    """A square grid of patches in windows of M, rolled by a shift."""

    grid: int
    window: int
    shift: int

    def __post_init__(self) -> None:
        within("grid", self.grid, 2, MOST_GRID)
        within("window", self.window, 2, self.grid)
        within("shift", self.shift, 0, self.window - 1)
        if self.grid % self.window:
            raise ValueError(f"windows tile the grid, received {self.window} and {self.grid}")

    def _reached(self) -> NDArray[np.int64]:
        """After which block the first patch has come to each patch that it reaches at all."""
        from vitviz.analysis import token_reach
        from vitviz.analysis.window_attention import layout

        found, tokens = layout((self.grid, self.grid), self.window, self.shift), self.grid**2
        plain = token_reach.window_links(found.plain, None, tokens)
        rolled = token_reach.window_links(found.index, found.mask, tokens)
        hops = token_reach.first_block(token_reach.alternate(plain, rolled, MOST_BLOCKS))[:, 0]
        return np.asarray(hops[hops != token_reach.NEVER])


@dataclass(frozen=True)
class MaskedPairs(_Windows):
    """The share of query–key pairs that a shifted block masks (Swin paper, figure 4)."""

    def kind(self, at: AtHand) -> Kind:
        """A share."""
        return Drag(0.0, 1.0, 0.01, "%")

    def measured(self, at: AtHand) -> Measured:
        """Counts the mask."""
        from vitviz.analysis.window_attention import layout

        found = layout((self.grid, self.grid), self.window, self.shift)
        share = found.masked_pairs / found.mask.size
        return Measured(
            share,
            f"{found.masked_pairs:,} of {found.mask.size:,} pairs are masked ({percent(share)}), in"
            f" {found.masked_windows} of {plural(len(found.index), 'window')}.",
        )


@dataclass(frozen=True)
class ReadableInCorner(_Windows):
    """How many patches the picture's first patch may read in a shifted block: those of its own region."""

    def kind(self, at: AtHand) -> Kind:
        """A count, up to a whole window."""
        return Drag(1, self.window**2, 1, "patches")

    def measured(self, at: AtHand) -> Measured:
        """Counts the row of the mask."""
        from vitviz.analysis.window_attention import layout

        found = layout((self.grid, self.grid), self.window, self.shift)
        window, slot = (int(where[0]) for where in np.nonzero(found.index == 0))
        free = int((found.mask[window, slot] == 0).sum())
        if not self.shift:
            return Measured(
                free, f"Nothing is rolled: patch 1 may read all {self.window**2} patches of its window."
            )
        return Measured(
            free,
            f"Rolled by {self.shift}, patch 1 shares its window of {self.window**2} with patches from other sides of"
            f" the picture; the mask leaves it {plural(free, 'patch', 'patches')}, its true neighbours and itself.",
        )


@dataclass(frozen=True)
class BlocksToReach(_Windows):
    """After how many blocks, shifted every second time, the first patch has reached the whole picture."""

    def kind(self, at: AtHand) -> Kind:
        """A count."""
        return Drag(1, MOST_BLOCKS, 1, "blocks")

    def measured(self, at: AtHand) -> Measured:
        """Follows the masks block by block."""
        reached, tokens = self._reached(), self.grid**2
        start = f"With windows of {self.window} and a shift of {self.shift}, what patch 1 holds"
        if len(reached) < tokens:
            return Measured(
                MOST_BLOCKS,
                f"{start} reaches {len(reached)} of {tokens} patches and no more, however many blocks follow.",
            )
        count = int(reached.max())
        return Measured(count, f"{start} has reached all {tokens} patches after {plural(count, 'block')}.")


@dataclass(frozen=True)
class PatchesReached(_Windows):
    """To how many patches the first one's news has come after some blocks, shifted every second time."""

    blocks: int = MOST_BLOCKS

    def __post_init__(self) -> None:
        super().__post_init__()
        within("blocks", self.blocks, 1, MOST_BLOCKS)

    def kind(self, at: AtHand) -> Kind:
        """A count, up to all."""
        return Drag(1, self.grid**2, 1, "patches")

    def measured(self, at: AtHand) -> Measured:
        """Follows the masks block by block."""
        reached = self._reached()
        count = int((reached <= self.blocks).sum())
        how = f"a shift of {self.shift}" if self.shift else "no shift"
        over = (
            count < self.grid**2 and not (reached > self.blocks - 2).any()
        )  # both kinds of block brought nothing
        more = ", and it comes no further, however many follow" if over else ""
        return Measured(
            count,
            f"With windows of {self.window} and {how}, what patch 1 holds has come to"
            f" {plural(count, 'patch', 'patches')} of {self.grid**2} after {plural(self.blocks, 'block')}{more}.",
        )


@dataclass(frozen=True)
class WindowCost(Always):
    """How many times as much global attention costs as attention in windows (Swin paper, equations 1 and 2)."""

    side: int  # patches along a side of the picture
    window: int
    dim: int = 96

    def __post_init__(self) -> None:
        within("side", self.side, 2, 256)
        within("window", self.window, 2, self.side)
        within("dim", self.dim, 8, 4096)

    def kind(self, at: AtHand) -> Kind:
        """A factor, from 1."""
        return Drag(1, end_of_scale(self._factor()), 1, "times")

    def measured(self, at: AtHand) -> Measured:
        """By the formulas."""
        from vitviz.shifted_windows import global_attention_cost, window_attention_cost

        every = global_attention_cost(self.side, self.side, self.dim)
        local = window_attention_cost(self.side, self.side, self.dim, self.window)
        return Measured(
            every / local,
            f"At {self.side} × {self.side} patches of width {self.dim}, global attention takes {every / 1e6:,.0f}"
            f" million multiply-adds and windows of {self.window} take {local / 1e6:,.0f} million.",
        )

    def _factor(self) -> float:
        from vitviz.shifted_windows import global_attention_cost, window_attention_cost

        return global_attention_cost(self.side, self.side, self.dim) / window_attention_cost(
            self.side, self.side, self.dim, self.window
        )
