"""Write files atomically, and read growing ones."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STATUS_BYTES = 4096  # a status is padded to this, so that it can be overwritten in place on a full disk


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield the path of a draft that becomes the file at the end: readers see the old bytes or the new ones."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")  # two threads may write one file
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, encoded: bytes) -> None:
    """Write a file atomically."""
    with drafted(path) as draft:
        draft.write_bytes(encoded)


def write_status(path: Path, values: dict[str, Any]) -> None:
    """Write a small JSON object atomically, or in place if the disk is full."""
    encoded = json.dumps(values).encode().ljust(STATUS_BYTES)
    try:
        write_whole(path, encoded)
    except OSError:
        if not path.exists():  # a new file; the cause is not that it is missing
            raise
        with open(path, "r+b") as file:
            file.write(encoded)


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object; an empty one if the file is missing or damaged."""
    return json_object(read_whole(path))


def read_whole(path: Path) -> bytes:
    """Return the content of a file; empty if it is missing."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def json_object(encoded: bytes) -> dict[str, Any]:
    """Parse a JSON object; returns an empty one for anything else."""
    try:
        values = json.loads(encoded)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def append_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Append one JSON object per line, in one write."""
    if records:
        with open(path, "ab") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records).encode())


def read_lines(path: Path, after_byte: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return (objects of the complete lines after a byte, next byte).

    A file that became shorter (a run resumed from an earlier step) is read from its start.
    """
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size < after_byte:
                after_byte = 0
            file.seek(after_byte)
            unread = file.read()
    except OSError:
        return [], after_byte
    whole = unread[: unread.rfind(b"\n") + 1]
    records = []
    for line in whole.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            records.append(record)
    return records, after_byte + len(whole)
