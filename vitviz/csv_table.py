"""Numbers to take away: columns as comma-separated text."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, "Sequence[object] | NDArray[Any]"]
# Depending on the locale, spreadsheets also take these signs in full width, and start a cell at a semicolon or tab.
_FORMULA = re.compile(r"(^|[;\t\r\n])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def csv_text(columns: Columns) -> str:
    """Return a CSV text with a header line; numbers have six digits, and no text is a formula to a spreadsheet.

    Raises:
        ValueError: if the columns are not of one length.
    """
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"columns must be of one length, received {lengths}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(_escape_formula, columns))
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
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}"
    return _escape_formula(cell) if isinstance(cell, str) else cell


def _escape_formula(text: str) -> str:
    """Return a text with an apostrophe before each sign that would make a spreadsheet compute the text as a formula."""
    try:
        float(text)
    except ValueError:
        return _FORMULA.sub(r"\1\2'", text)
    return text
