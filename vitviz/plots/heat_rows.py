"""Pack rows of small maps and images with headings for the browser."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import describe, pack

TileKind = Literal["picture", "signed", "amount"]


@dataclass(frozen=True, eq=False)
class Tile:
    """One small map: an image (rows, cols, 3) uint8, or values (rows, cols) on a scale from `low` to `high`.

    'signed' is drawn centred on zero, 'amount' from nothing to much.
    """

    kind: TileKind
    values: NDArray[Any]
    words: str
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class TileRow:
    """Tiles under one heading."""

    title: str
    note: str
    tiles: tuple[Tile, ...]


def payload(rows: Sequence[TileRow], heads: Sequence[str]) -> bytes:
    """Pack rows of tiles for `heat_rows`; `heads` are the column titles."""
    arrays: dict[str, NDArray[Any]] = {}
    tiles_header = []
    for row in rows:
        tiles = []
        for tile in row.tiles:
            name = f"t{len(arrays)}"
            arrays[name] = tile.values.astype(np.uint8 if tile.kind == "picture" else np.float32)
            tiles.append(describe(tile) | {"array": name})
        tiles_header.append(describe(row) | {"tiles": tiles})
    return pack({"rows": tiles_header, "heads": list(heads)}, **arrays)


def signed(values: NDArray[Any], words: str, most: float) -> Tile:
    """Return a signed map on a scale from -most to most."""
    return Tile("signed", values, words, -most, most)
