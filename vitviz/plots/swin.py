"""What the Swin lens draws: arrays packed for its views in the browser, and its figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.windows import Layout
from vitviz.plots.blob import pack
from vitviz.windows import FloatArray

PictureArray = NDArray[np.uint8]


def stepper(
    shown: PictureArray, found: Layout, attn: FloatArray, unmasked: FloatArray, leak: FloatArray, pin: int
) -> bytes:
    """The stepper: windows, roll, region ids, masks and attention of one grid.

    Args:
        shown: (S, S, 3), the picture.
        found: its windows.
        attn, unmasked: (windows, M M, M M), with and without the mask.
        leak: (patches,), share of the attention that crosses the edge without the mask.
        pin: index of the chosen patch.
    """
    rows, cols = found.grid
    if not 0 <= pin < rows * cols:
        raise ValueError(f"pin must lie below {rows * cols}, received {pin}")
    header = {"rows": rows, "cols": cols, "window": found.window, "shift": found.shift, "pin": pin}
    return pack(
        header,
        shown=shown,
        ids=found.ids.astype(np.uint8),
        plain=found.plain.astype(np.int32),
        index=found.index.astype(np.int32),
        allowed=(found.mask == 0).astype(np.uint8),
        attn=attn.astype(np.float32),
        unmasked=unmasked.astype(np.float32),
        leak=leak.astype(np.float32),
    )
