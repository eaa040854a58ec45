"""Represent the selected token by its position in the image or by its name.

It is kept from page to page and from model to model, so it holds no index: a place is (x, y) in [0, 1] of the image
that the model sees, x to the right and y downwards, and a prefix token is 'cls', 'dist' or 'reg1'. On a grid of
(rows, cols) a place lies in

    row = min(floor(y * rows), rows - 1),   col = min(floor(x * cols), cols - 1),   cell = row * cols + col

and the place of a cell is its centre, ((col + 1/2) / cols, (row + 1/2) / rows). A place has three decimals, as it
stands in a link.
"""

import re
from dataclasses import dataclass

from vitviz.models.token_layout import TokenLayout
from vitviz.text import parse_float

_PREFIX = re.compile(r"cls|dist|reg[1-9]")
_PATCH = re.compile(r"[0-9]{1,5}(,[0-9]{1,5})?")
_CENTRE = (0.5, 0.5)


@dataclass(frozen=True)
class Pin:
    """A position (x, y) or the name of a prefix token; `Pin()` is the centre.

    Raises:
        ValueError: if the place lies outside the image, or no prefix token is called so.
    """

    place: tuple[float, float] | None = _CENTRE
    prefix: str = ""  # a prefix token's name where there is no place

    def __post_init__(self) -> None:
        if self.place is None:
            if not _PREFIX.fullmatch(self.prefix):
                raise ValueError(
                    f"a prefix token is 'cls', 'dist' or 'reg1' to 'reg9', received {self.prefix!r}"
                )
            return
        if self.prefix:
            raise ValueError(
                f"expected a position or a prefix token, received {self.place} and {self.prefix!r}"
            )
        x, y = self.place
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise ValueError(f"a position must lie in [0, 1] x [0, 1], received {self.place}")
        object.__setattr__(self, "place", (round(x, 3), round(y, 3)))

    @classmethod
    def parse(cls, text: str, grid: tuple[int, int] | None = None) -> "Pin | None":
        """Parse 'x,y', 'cls', 'dist' or 'reg1' from a link or view; None if invalid.

        Args:
            grid: (rows, cols) on which a link may also name a patch by its number or 'row,column', from 1.
        """
        if _PREFIX.fullmatch(text):
            return cls(None, text)
        if grid is not None and (patch := cls._parse_patch(text, grid)) is not None:
            return patch
        x, y = map(parse_float, text.partition(",")[::2])
        if x is None or y is None or not (0 <= x <= 1 and 0 <= y <= 1):
            return None
        return cls((x, y))

    @classmethod
    def _parse_patch(cls, text: str, grid: tuple[int, int]) -> "Pin | None":
        if not _PATCH.fullmatch(text):
            return None
        first, _, second = text.partition(",")
        row, col = (int(first) - 1, int(second) - 1) if second else divmod(int(first) - 1, grid[1])
        fits = 0 <= row < grid[0] and 0 <= col < grid[1]
        return cls.of_cell(grid, row * grid[1] + col) if fits else None

    @classmethod
    def of_cell(cls, grid: tuple[int, int], cell: int) -> "Pin":
        """Return the centre of a cell of a grid (rows, cols), counted from 0 in reading order."""
        rows, cols = grid
        if not 0 <= cell < rows * cols:
            raise ValueError(f"cell must lie in 0..{rows * cols - 1}, received {cell}")
        row, col = divmod(cell, cols)
        return cls(((col + 0.5) / cols, (row + 0.5) / rows))

    @classmethod
    def of_token(cls, layout: TokenLayout, token: int) -> "Pin":
        """Return a token of a sequence: a prefix token by its name, a patch by its centre."""
        if token < layout.num_prefix_tokens:
            return cls(None, layout.prefix[token])
        return cls.of_cell(layout.grid, token - layout.num_prefix_tokens)

    def __str__(self) -> str:
        """As a link and a view hold it: 'x,y' with three decimals, or the name."""
        return self.prefix if self.place is None else f"{self.place[0]:.3f},{self.place[1]:.3f}"

    @property
    def point(self) -> tuple[float, float]:
        """The position; the centre for a prefix token."""
        return _CENTRE if self.place is None else self.place

    def cell(self, grid: tuple[int, int]) -> int:
        """Return the cell under the pin on a grid (rows, cols), counted from 0 in reading order."""
        rows, cols = grid
        row, col = self.row_col(grid)
        return row * cols + col

    def row_col(self, grid: tuple[int, int]) -> tuple[int, int]:
        """Return (row, column) of the cell under the pin, from 0."""
        (rows, cols), (x, y) = grid, self.point
        return min(int(y * rows), rows - 1), min(int(x * cols), cols - 1)

    def token(self, layout: TokenLayout) -> int:
        """Return the index in a sequence: of the prefix token if the model has it, else of the patch under the pin."""
        if self.prefix in layout.prefix:
            return layout.prefix.index(self.prefix)
        return layout.num_prefix_tokens + self.cell(layout.grid)
