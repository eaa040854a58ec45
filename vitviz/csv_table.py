"""Numbers to take away: columns as comma-separated text."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, "Sequence[object] | NDArray[Any]"]


def csv_text(columns: Columns) -> str:
    """Return a CSV text with a header line; numbers have six digits.

    Raises:
        ValueError: if the columns are not of one length.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must be of one length, received {lengths}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_cell, values) for values in columns.values()), strict=True))
    return out.getvalue()


def columns_of(matrix: NDArray[Any], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the columns of a matrix (rows, columns), named from left to right.

    Raises:
        ValueError: if there is not one name a column.
    """
    columns = dict(zip(names, matrix.T, strict=True))
    if len(columns) != matrix.shape[1]:
        raise ValueError(f"names must differ, received {len(columns)} for {matrix.shape[1]} columns")
    return columns


def columns_of_rows(names: Sequence[str], rows: Iterable[Sequence[object]]) -> dict[str, list[object]]:
    """Return rows as columns, named from left to right."""
    listed = [*rows]
    return {name: [row[at] for row in listed] for at, name in enumerate(names)}


def _cell(cell: object) -> object:
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else cell
