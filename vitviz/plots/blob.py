"""Arrays packed for a client component: one message of bytes, no JSON lists, no base64."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

_TYPES = {"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"}


def pack(header: dict[str, Any], **arrays: np.ndarray[Any, Any]) -> bytes:
    """uint32 header length | JSON header | buffers, each on an 8-byte boundary.

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
        data = np.ascontiguousarray(array).tobytes()
        buffers.append(data + b"\0" * (-len(data) % 8))
    return sealed({**header, "arrays": table}, b"".join(buffers))


def sealed(header: dict[str, Any], buffers: bytes) -> bytes:
    """Return a message of a header that already names its arrays, and of their bytes: what `opened` took apart."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text + buffers


def opened(message: bytes) -> tuple[dict[str, Any], bytes]:
    """Return a message's header, and the bytes of its arrays, which keep their places when the header changes."""
    (length,) = struct.unpack_from("<I", message)
    header: dict[str, Any] = json.loads(message[4 : 4 + length])
    return header, message[4 + length :]


def unpacked(message: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Return a message's arrays by name, read-only."""
    header, buffers = opened(message)
    return {
        name: np.frombuffer(buffers, entry["dtype"], int(np.prod(entry["shape"])), entry["offset"]).reshape(
            entry["shape"]
        )
        for name, entry in header["arrays"].items()
    }
