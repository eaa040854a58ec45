"""Pack the layers of two models over one image for the browser."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.token_colours import REACH, Components
from vitviz.plots.blob import describe, pack
from vitviz.plots.photo import Photo
from vitviz.text import percent

UNIT = 127  # an int8 of this is a cosine of 1


@dataclass(frozen=True, eq=False)
class Panel:
    """One layer over the image: the row of its model, its title, and its cells.

    cells: (rows, cols, 3) uint8 colours, or (asked, rows * cols) int8 cosines, asked all tokens or the pinned one.
    """

    row: int
    title: str
    grid: tuple[int, int]
    cells: NDArray[Any]
    note: str = ""
    prefix: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rows:
    """The texts and images of all panels, the selected panel, and the pin."""

    titles: Sequence[str]
    photos: Sequence[Photo]  # one a model: crops differ where models read the image differently
    chosen: int
    pin: str
    prefix: tuple[str, ...] = ()  # tokens that can be pinned by name
    veil: float = 1.0  # opacity of the cells


def colour_panels(components: Components, *, shares: bool) -> dict[str, Any]:
    """Describe the components behind a panel's colours.

    Args:
        shares: says what each holds of the variance, too.
    """
    header = {"shares": [float(share) for share in components.shares]} if shares else {}
    return {"orders": list(components.order), **header}


def share_note(components: Components) -> str:
    """Return '61 % of variance': the share that the three components explain."""
    return f"{percent(float(components.shares.sum()), 0)} of variance"


def panels_view(rows: Rows, panels: Sequence[Panel]) -> bytes:
    """Pack panels for `colours.js` or `similar.js`; a photo shared by two models is sent once."""
    photos: list[Photo] = []
    for photo in rows.photos:
        if all(photo.data != other.data for other in photos):
            photos.append(photo)
    places = [next(i for i, other in enumerate(photos) if other.data == photo.data) for photo in rows.photos]
    header: dict[str, Any] = {
        "rows": [{"title": title, "photo": index} for title, index in zip(rows.titles, places, strict=True)],
        "photos": [photo.header["photo"] for photo in photos],
        "panels": [
            {
                **describe(panel, "row", "title", "note", "grid", "prefix"),
                "name": f"{rows.titles[panel.row]}, {panel.title}",
                "array": f"p{index}",
                **panel.more,
            }
            for index, panel in enumerate(panels)
        ],
        **describe(rows, "chosen", "pin", "prefix", "veil"),
        "reach": REACH,
    }
    cells = {f"p{index}": panel.cells for index, panel in enumerate(panels)}
    return pack(header, **{f"photo{i}": photo.array for i, photo in enumerate(photos)}, **cells)


def cosine_codes(cosines: NDArray[np.floating[Any]]) -> NDArray[np.int8]:
    """Return the cosines in [-1, 1] in eight bits: an error of at most 0.004."""
    return np.asarray(np.rint(UNIT * cosines.clip(-1, 1)), np.int8)


def matrix_view(
    matrix: NDArray[np.float64], models: Sequence[tuple[str, Sequence[str]]], *, between: bool
) -> bytes:
    """Pack the similarity of all layers of two models for `matrix_of_layers.js`.

    Args:
        matrix: (layers of both, layers of both), the first model's layers first.
        models: each model's title and its layers' names.
        between: sends the block between the two models, too; without it that is no number.
    """
    header = {"models": [{"title": title, "layers": list(layers)} for title, layers in models]}
    sent = matrix.astype(np.float32)
    if not between:
        count = len(models[0][1])
        sent[:count, count:] = sent[count:, :count] = np.nan
    return pack(header, matrix=sent)
