"""The controls that say which codes are computed: grid, width and base; two views share them."""

from __future__ import annotations

from dataclasses import dataclass

from pages.controls import widgets
from pages.lenses.positions import encodings

Grid = tuple[int, int]
GRIDS: tuple[Grid, ...] = ((4, 4), (7, 7), (8, 8), (14, 14))
DIMS = (8, 16, 32, 64, 96, 128, 192, 256, 384, 768)
BASES = (10.0, 100.0, 1000.0, 10000.0, 100000.0)
_COMPUTED = "It is of computed encodings; a model's table has its own."
_WAVES = "It is of computed waves."


@dataclass(frozen=True)
class Code(widgets.Chosen, page="positions"):
    """What a computed encoding is made for; a model's own table has its own."""

    grid: Grid
    dim: int
    base: float


def grid(shown: set[str]) -> Grid:
    """The grid of the encodings that are shown, by key; impossible where none is computed."""
    own = encodings.own_grid()
    return widgets.select(
        Code.key("grid"),
        "Grid, patches",
        tuple(sorted({*GRIDS, own})),
        own,
        format_func=lambda g: f"{g[0]} × {g[1]}",
        why_not=None if shown & set(encodings.COMPUTED) else _COMPUTED,
    )


def dim(shown: set[str]) -> int:
    """The width of the encodings that are shown."""
    own = encodings.own_dim()
    return widgets.select(
        Code.key("dim"),
        "Width D",
        tuple(sorted({*DIMS, own})),
        own,
        help="How many values a token has, and so a code.",
        why_not=None if shown & set(encodings.COMPUTED) else _COMPUTED,
    )


def base(shown: set[str]) -> float:
    """The base of the waves that are shown."""
    return widgets.select(
        Code.key("base"),
        "Base",
        BASES,
        encodings.DEFAULT_BASE,
        format_func=lambda b: f"{b:,.0f}",
        help="How much slower the last dimension turns than the first.",
        why_not=None if shown & set(encodings.WAVES) else _WAVES,
    )
