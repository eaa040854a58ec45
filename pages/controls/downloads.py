"""Draw buttons that download files: any, a table as CSV, a document as JSON."""

import json as json_text
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any, Literal

import streamlit as st

from vitviz.csv_table import Columns, count_from_zero, csv_text

_MIME = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
    ".json": "application/json",
    ".npz": "application/octet-stream",
    ".png": "image/png",
    ".toml": "application/toml",
    ".webp": "image/webp",
    ".zip": "application/zip",
}


def download(
    label: str,
    make: Callable[[], str | bytes],
    file_name: str,
    key: str,
    *,
    why_not: str | None = None,
    type: Literal["primary", "secondary"] = "secondary",
) -> None:
    """Draw a download button.

    Args:
        make: returns the file when it is requested; it runs without a session.
        file_name: ends in .csv, .html, .ipynb, .json, .npz, .png, .toml, .webp or .zip.
        why_not: why the file is unavailable; None if it is available.
    """
    st.download_button(
        label,
        make,
        file_name,
        _MIME[PurePath(file_name).suffix],
        key=key,
        help=why_not,
        on_click="ignore",
        icon=":material/download:",
        disabled=why_not is not None,
        type=type,
    )


def csv(label: str, columns: Columns, file_name: str, key: str) -> None:
    """Draw a CSV download of a page's columns: `csv("Weights (CSV)", {"layer": …}, "w.csv", …)`.

    Layers, heads and other places count from 1 in the columns and from 0 in the file, as in the API.
    """
    download(label, lambda: csv_text(count_from_zero(columns)), file_name, key)


def json(label: str, document: Any, file_name: str, key: str) -> None:
    """Draw a JSON download of lists, objects, texts and numbers."""
    download(label, partial(json_text.dumps, document, indent=1), file_name, key)
