"""Paint patches out and silence heads; what is left out is the view's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pages.views.register import register
from vitviz.plots.blob import pack
from vitviz.plots.photo import Photo

_ablate = register(__file__, "ablate_view")


@dataclass(frozen=True)
class Ablation:
    """Patches in reading order, and (layer, head), that are left out; all from 0."""

    patches: tuple[int, ...] = ()
    heads: tuple[tuple[int, int], ...] = ()


def ablate(picture: Photo, grid: tuple[int, int], heads: Sequence[int], *, start: int, key: str) -> Ablation:
    """Draws the picture and the heads of every layer; returns what is left out, checked against their numbers.

    `start` is the patch where arrow keys begin.
    """
    header = {"grid": list(grid), "heads": list(heads), "start": start} | picture.header
    said = _ablate(pack(header, photo=picture.array), key=key, states=("ablation",)).ablation or {}
    patches = {int(i) for i in said.get("patches", ()) if 0 <= int(i) < grid[0] * grid[1]}
    chosen = {(int(layer), int(head)) for layer, head in said.get("heads", ())}
    return Ablation(
        tuple(sorted(patches)),
        tuple(sorted(pair for pair in chosen if 0 <= pair[0] < len(heads) and 0 <= pair[1] < heads[pair[0]])),
    )
