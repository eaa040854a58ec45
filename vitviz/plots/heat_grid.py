"""Pack grids of cells, over images or alone, for the browser: a new heat map on a page is one message."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import describe, pack
from vitviz.plots.photo import Photo, Uint8, decode_photo

Ramp = Literal["accent", "signed", "amount", "decades"]
Layout = Literal["even", "equal", "last", "single", "beside"]


@dataclass(frozen=True)
class Fact:
    """A number of every cell that the pointer reads: its name, decimals (None: as many as it needs) and unit."""

    name: str
    digits: int | None = 0
    unit: str = ""


@dataclass(frozen=True, eq=False)
class HeatPanel:
    """A grid of cells, over an image or alone.

    values: (facts, rows * cols) float32, NaN for none; the first fact's are coloured, if `colours` is None.
    colours: (rows, cols, 4) uint8.
    ramp: 'accent' (orange, and blue below 0) or 'signed' (around 0, clear over an image), from -high to high; 'amount'
        from low to high; 'decades' from high down to its ten-thousandth, by the logarithm.
    line, note: texts above and below the cells; the note makes room for the values that the pointer reads.
    row_names, col_names: labels of the cells of a grid without an image; `axes` are the words before them.
    groups: (name, count) of neighbouring rows and columns of a square matrix, which lines separate.
    missing: what is read in a cell without a value.
    framed: a grid and its cell that is framed as the pin.
    """

    title: str
    grid: tuple[int, int] = (1, 1)
    facts: Sequence[Fact] = ()
    values: NDArray[np.floating] | None = None
    photo: Photo | None = None
    colours: NDArray[np.uint8] | None = None
    ramp: Ramp = "signed"
    low: float = 0.0
    high: float = 1.0
    line: str = ""
    note: str = ""
    row_names: Sequence[str] = ()
    col_names: Sequence[str] = ()
    axes: tuple[str, str] = ("", "")
    groups: Sequence[tuple[str, int]] = ()
    missing: str = ""
    framed: tuple[tuple[int, int], int] | None = None


@dataclass(frozen=True, eq=False)
class PanelRow:
    """Panels beside one heading."""

    title: str
    note: str
    panels: tuple[HeatPanel, ...]


@dataclass(frozen=True)
class GridStyle:
    """Drawing options of all panels.

    layout: 'even' (as many in a row as fit), 'equal' (all in one row), 'last' (the last one large), 'single' (one
        large panel) or 'beside' (rows beside their headings).
    smooth, grey: cells smoothed between their middles; images in grey.
    ranks: the pointer also reads a value's rank, and a cell's number in place of its row and column.
    start: the cell where arrow keys begin; with one, a click pins a cell.
    legend: words at the ends and in the middle of the last panel's ramp.
    """

    layout: Layout = "even"
    smooth: bool = False
    grey: bool = False
    ranks: bool = False
    start: int | None = None
    legend: Sequence[str] = ()


def image_panel(title: str, image: Photo | Uint8, note: str = "") -> HeatPanel:
    """Return a panel that shows an image without cells."""
    return HeatPanel(title, photo=decode_photo(image), note=note)


def map_panel(title: str, values: NDArray[np.floating], note: str, ramp: Ramp, high: float) -> HeatPanel:
    """Return a panel of one map (rows, cols) without an image."""
    rows, cols = values.shape
    return HeatPanel(
        title, (rows, cols), [Fact("", None)], values.reshape(1, -1), ramp=ramp, high=high, note=note
    )


def pack_heat_grid(
    panels: Sequence[HeatPanel],
    style: GridStyle,
    arrays: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    **header: Any,
) -> bytes:
    """Pack panels for `heat_grid.js`, in order; `header` and `arrays` add what a view derived from it reads."""
    packed = dict(arrays)
    photos: list[Photo] = []
    described = []
    for index, panel in enumerate(panels):
        if panel.values is not None:
            packed[f"values{index}"] = np.asarray(panel.values, np.float32)
        if panel.colours is not None:
            packed[f"colours{index}"] = panel.colours
        if panel.photo is not None and panel.photo not in photos:
            photos.append(panel.photo)
        place = None if panel.photo is None else photos.index(panel.photo)
        facts = [[fact.name, fact.digits, fact.unit] for fact in panel.facts]
        described.append(describe(replace(panel, photo=None)) | {"photo": place, "facts": facts})
    packed |= {f"photo{index}": photo.array for index, photo in enumerate(photos)}
    kinds = [photo.header["photo"] for photo in photos]
    return pack({"panels": described, "photos": kinds, **describe(style), **header}, **packed)


def pack_heat_rows(rows: Sequence[PanelRow]) -> bytes:
    """Pack rows of panels, each with its heading."""
    headings = [{"title": row.title, "note": row.note, "count": len(row.panels)} for row in rows]
    panels = [panel for row in rows for panel in row.panels]
    return pack_heat_grid(panels, GridStyle("beside"), rows=headings)


def pack_maps(
    image: Uint8 | Photo,
    maps: NDArray[np.floating],
    titles: Sequence[str],
    grid: tuple[int, int],
    *,
    sharing: int = 0,
    notes: Sequence[str] = (),
    lines: Sequence[str] = (),
    style: GridStyle = GridStyle(grey=True),  # noqa: B008  (frozen)
) -> bytes:
    """Pack maps of one image side by side, over the same grid.

    Args:
        image: (S, S, 3) uint8, what is drawn on: the crop or what the model sees.
        maps: (maps, patches); negative values are blue.
        sharing: how many maps, the first ones, share a scale; the others have their own.
        notes: one line under each map; `lines`: one or two over it, under the title.
    """
    photo, ends = decode_photo(image), np.abs(maps).max(axis=-1)
    ends[:sharing] = ends[:sharing].max(initial=0)
    panels = [
        HeatPanel(title, grid, [Fact("", None)], values[None], photo, ramp="accent", high=float(end) or 1.0)
        for title, values, end in zip(titles, maps, ends, strict=True)
    ]
    if notes:
        panels = [replace(panel, note=note) for panel, note in zip(panels, notes, strict=True)]
    if lines:
        panels = [replace(panel, line=line) for panel, line in zip(panels, lines, strict=True)]
    return pack_heat_grid(panels, replace(style, ranks=True))
