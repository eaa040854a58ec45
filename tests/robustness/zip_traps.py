"""Zip archives, and such as no tool would write: their directory says what it likes."""

from __future__ import annotations

import bz2
import lzma
import struct
import zipfile
import zlib
from dataclasses import dataclass

METHODS = {8: "deflate", 9: "deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 97: "method 97"}


@dataclass(frozen=True)
class Entry:
    """One file as the archive holds it, and what the directory says of it."""

    name: str
    packed: bytes
    method: int = zipfile.ZIP_STORED
    said_bytes: int | None = None  # None: of a stored file its own length, else 1000
    crc: int = 0


def archive(entries: list[Entry], overlapping: bool = False) -> bytes:
    """The bytes of a zip; `overlapping`: every name stands for the first file's bytes."""
    files, directory = b"", b""
    for entry in entries:
        name = entry.name.encode()
        returned = (
            entry.said_bytes
            if entry.said_bytes is not None
            else len(entry.packed)
            if not entry.method
            else 1000
        )
        place = 0 if overlapping else len(files)
        shared = (20, 0, entry.method, 0, 33, entry.crc, len(entry.packed), returned, len(name))
        if not (overlapping and files):
            files += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *shared, 0) + name + entry.packed
        directory += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, *shared, 0, 0, 0, 0, 0, place) + name
    count = len(entries)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(directory), len(files), 0)
    return files + directory + end


def packed(size: int, method: int) -> bytes:
    """So many zeros, packed; for a method that Python cannot write, bytes that are none of it."""
    zeros = bytes(size)
    if method == zipfile.ZIP_DEFLATED:
        coder = zlib.compressobj(wbits=-15)
        return coder.compress(zeros) + coder.flush()
    if method == zipfile.ZIP_BZIP2:
        return bz2.compress(zeros)
    if method == zipfile.ZIP_LZMA:
        filters = [{"id": lzma.FILTER_LZMA1}]
        properties = lzma._encode_filter_properties(filters[0])
        raw = lzma.compress(zeros, lzma.FORMAT_RAW, filters=filters)
        return struct.pack("<BBH", 9, 4, len(properties)) + properties + raw
    return b"\0" * 100
