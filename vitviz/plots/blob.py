"""Pack arrays for a client component into one message of bytes, without JSON lists or base64."""

import json
import struct
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

_TYPES = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"}


def pack(header: dict[str, Any], **arrays: np.ndarray[Any, Any]) -> bytes:
    """Pack uint32 header length, JSON header and buffers, each on an 8-byte boundary.

    The header gains `arrays`: name -> {dtype, shape, offset}, the offset counted
    from the end of the header (4 + header length).

    Raises:
        ValueError: if an array's type has no typed array in JavaScript.
    """
    for name, array in arrays.items():
        if array.dtype.name not in _TYPES:
            raise ValueError(
                f"{name} must be one of {', '.join(sorted(_TYPES))}, received {array.dtype.name}"
            )
    # The header's length depends on the offsets' digits, so offsets are counted from the end of the header.
    offset, table = 0, {}
    for name, array in arrays.items():
        table[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        offset += -(-array.nbytes // 8) * 8
    buffers = []
    for array in arrays.values():
        buffer = np.ascontiguousarray(array).tobytes()
        buffers.append(buffer + b"\0" * (-len(buffer) % 8))
    return seal({**header, "arrays": table}, b"".join(buffers))


def describe(record: Any, *names: str) -> dict[str, Any]:
    """Return some fields of a dataclass for a header; without names all but its arrays, which travel beside it."""
    if names:
        return {name: getattr(record, name) for name in names}
    if not is_dataclass(record):
        raise TypeError(
            f"a message holds text, numbers of Python and records, received {type(record).__name__}"
        )
    return {name: field for name, field in vars(record).items() if not isinstance(field, np.ndarray)}


def name_files(files: Sequence[str]) -> bytes:
    """Return the beginning of a view's message: uint32 length | its module and style sheets, padded to 8 bytes.

    Args:
        files: addresses below the folder that holds `vitviz`, the module first.
    """
    text = " ".join(files).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text


def read_files(message: bytes) -> list[str]:
    """Return the files that a message names; the inverse of `name_files`."""
    (length,) = struct.unpack_from("<I", message)
    return message[4 : 4 + length].decode().split()


def seal(header: dict[str, Any], buffers: bytes) -> bytes:
    """Return a message from a header that names its arrays, and their bytes; the inverse of `open_blob`."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False, default=describe).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text + buffers


def open_blob(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Return a message's header, and the bytes of its arrays."""
    (length,) = struct.unpack_from("<I", message)
    header: dict[str, Any] = json.loads(message[4 : 4 + length])
    return header, message[4 + length :]


def unpack_arrays(message: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return a message's arrays by name, read-only."""
    header, buffers = open_blob(message)
    return {
        name: np.frombuffer(buffers, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"]).reshape(
            entry["shape"]
        )
        for name, entry in header["arrays"].items()
    }
