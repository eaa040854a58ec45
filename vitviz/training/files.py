"""Files of a run directory: whole or absent, never half written, and readable while they grow."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

STATUS_BYTES = 4096  # a status is padded to this, so that a full disk can still be reported in its old place


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the file, then rename: readers see the old bytes or the new ones."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")  # two threads may write one file
    try:
        draft.write_bytes(data)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_status(path: Path, values: dict[str, Any]) -> None:
    """Write a small JSON object whole; where the disk is full, over the blocks that the old one holds."""
    data = json.dumps(values).encode().ljust(STATUS_BYTES)
    try:
        write_whole(path, data)
    except OSError:
        with open(path, "r+b") as file:
            file.write(data)


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object; an empty one where the file is missing or torn."""
    return json_object(read_whole(path))


def read_whole(path: Path) -> bytes:
    """Return what a file holds; nothing where it is missing."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def json_object(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a file; an empty one where it holds none."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def append_lines(path: Path, values: list[dict[str, Any]]) -> None:
    """Append one JSON object per line, in one write."""
    if values:
        with open(path, "ab") as file:
            file.write("".join(json.dumps(value) + "\n" for value in values).encode())


def read_lines(path: Path, after_byte: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return (objects of the whole lines after a byte, the byte after them); a torn line is left for later.

    A file that became shorter (a run resumed from an earlier step) is read from its start.
    """
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < after_byte:
                after_byte = 0
            file.seek(after_byte)
            data = file.read()
    except OSError:
        return [], after_byte
    whole = data[: data.rfind(b"\n") + 1]
    values = []
    for line in whole.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            values.append(value)
    return values, after_byte + len(whole)
