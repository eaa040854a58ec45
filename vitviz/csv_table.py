"""Numbers to take away: columns as comma-separated text."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = Mapping[str, "Sequence[object] | NDArray[Any]"]
# Columns of places, which pages count from 1; and such places in a name.
_COUNTED = {
    *(
        "layer",
        "stage",
        "head",
        "row",
        "column",
        "row in the second",
        "column in the second",
        "patch",
        "position",
    ),
    *("token", "channel", "segment", "component", "filter", "window", "query", "key"),
}
_NUMBERED = re.compile(
    r"\b((?:layer|stage|block|convolution|head|row|column|slot)[ _]|(?:d|k)(?=\d+$))(\d+)\b"
)
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


def count_from_zero(columns: Columns) -> Columns:
    """Return a page's table, which counts from 1, as programs read it: layers, heads, rows and so on from 0.

    Headers of such columns say so; names in headers, such as 'head 1', are counted from 0 as well.
    """
    return {_shift_header(name, values): _shift(name, values) for name, values in columns.items()}


def _shift_header(name: str, values: "Sequence[object] | NDArray[Any]") -> str:
    shifted = _NUMBERED.sub(lambda match: f"{match[1]}{int(match[2]) - 1}", name)
    return f"{shifted} (from 0)" if name in _COUNTED and len(values) else shifted


def _shift(name: str, values: "Sequence[object] | NDArray[Any]") -> "Sequence[object]":
    if name not in _COUNTED:
        return list(values)
    return [
        _NUMBERED.sub(lambda match: f"{match[1]}{int(match[2]) - 1}", value)
        if isinstance(value, str)
        else value - 1  # type: ignore[operator]
        for value in values
    ]


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
