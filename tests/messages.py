"""What a client view is told, taken apart again: the other end of vitviz.plots.blob."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a packed message."""
    (length,) = struct.unpack_from("<I", message)
    header = json.loads(message[4 : 4 + length])
    arrays = {}
    for name, entry in header["arrays"].items():
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(message, entry["dtype"], count, 4 + length + entry["offset"])
        arrays[name] = flat.reshape(entry["shape"])
    return header, arrays


def body(message: bytes) -> bytes:
    """What a page packed for a view, without the address of the view's files that `register` put before it."""
    (length,) = struct.unpack_from("<I", message)
    return message[4 + length :]


def files(message: bytes) -> list[str]:
    """The files of the view that a message is for, below `pages`."""
    (length,) = struct.unpack_from("<I", message)
    return message[4 : 4 + length].decode().split()
