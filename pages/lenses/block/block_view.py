"""One token's way through one block, in the browser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pages.views.register import register
from vitviz.analysis.block import Step
from vitviz.models.layout import TokenLayout
from vitviz.plots.blob import pack

_block = register(__file__, "block_view")


def block(
    steps: list[Step],
    *,
    picture: NDArray[np.uint8],
    layout: TokenLayout,
    token: int,
    head: int,
    heads: int,
    key: str,
    on_change: Callable[[], None],
) -> None:
    """Draws the steps; a click on a key is the trigger 'pin', one on the stream's channel the trigger 'channel'."""
    header = {
        "prefix": list(layout.prefix),
        "grid": list(layout.grid),
        "token": token,
        "head": head,
        "heads": heads,
        "steps": [
            {
                "title": step.title,
                "meaning": step.meaning,
                "names": list(step.names),
                "formula": step.formula,
                "numbers": step.numbers.replace("-", "−"),
                "shape": list(step.shape),
                "labels": list(step.labels),
                "kind": step.kind,
                "stream": step.stream,
                "array": f"s{i}",
            }
            for i, step in enumerate(steps)
        ],
    }
    arrays = {f"s{i}": step.values for i, step in enumerate(steps)}
    _block(pack(header, picture=picture, **arrays), key=key, triggers=("pin", "channel"), on_change=on_change)
