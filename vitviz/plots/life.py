"""A run's life as a flip-book: small pictures of every snapshot as bytes, for the browser to leaf through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import pack

Kind = Literal["map", "overlay", "rgb", "dots", "none"]


@dataclass(frozen=True, eq=False)
class Picture:
    """One small picture over time.

    frames: (S, R, C, h, w) uint8 maps in R rows and C columns, (S, R, C, h, w, 3) for 'rgb', (S, layers, heads)
    for 'dots'; None for 'none', which shows the `reason` instead. 0 and 255 stand for `lo` and `hi`.
    """

    name: str
    title: str
    kind: Kind
    frames: NDArray[np.uint8] | None = None
    ramp: Literal["diverging", "sequential"] = "sequential"
    lo: float = 0.0
    hi: float = 1.0
    captions: Sequence[str] = ()
    page: str | None = None  # the lens that shows it large
    opens: str = ""
    reason: str = ""
    extra: dict[str, Any] = field(default_factory=dict)  # rows, cols, names, tiles, tile, unit, wide, mark
    base: NDArray[np.uint8] | None = None  # (H, W, 3), under an 'overlay'


def to_bytes(values: NDArray[np.floating[Any]], lo: float, hi: float) -> NDArray[np.uint8]:
    """Values as 0..255 between lo and hi, clipped; half a step is the largest error inside."""
    scaled = (np.asarray(values, dtype=np.float64) - lo) * (255.0 / (hi - lo))
    return np.clip(np.round(scaled), 0, 255).astype(np.uint8)


def payload(
    run: str,
    steps: Sequence[int],
    moments: Sequence[str],
    pictures: Sequence[Picture],
    moment: int | None,
    waiting: str = "",
) -> bytes:
    """The flip-book's message.

    Args:
        run: id of the run.
        steps: of the snapshots, ascending.
        moments: one line per snapshot, such as 'epoch 2.1 · validation 91.2 %'.
        pictures: each with one frame per snapshot.
        moment: the step to show; None follows the newest.
        waiting: what is said while there is no snapshot.

    Raises:
        ValueError: if a picture has another number of frames than there are steps.
    """
    arrays: dict[str, NDArray[np.uint8]] = {}
    described = []
    for picture in pictures:
        if picture.frames is not None:
            if len(picture.frames) != len(steps):
                raise ValueError(
                    f"{picture.name} must have {len(steps)} frames, received {len(picture.frames)}"
                )
            arrays[picture.name] = picture.frames
        if picture.base is not None:
            arrays[f"{picture.name}_base"] = picture.base
        described.append(
            {
                "name": picture.name,
                "title": picture.title,
                "kind": picture.kind,
                "ramp": picture.ramp,
                "lo": picture.lo,
                "hi": picture.hi,
                "captions": list(picture.captions),
                "page": picture.page,
                "opens": picture.opens,
                "reason": picture.reason,
                "base": f"{picture.name}_base",
                **picture.extra,
            }
        )
    header = {
        "run": run,
        "steps": list(steps),
        "moments": list(moments),
        "pictures": described,
        "moment": moment,
        "waiting": waiting,
    }
    return pack(header, **arrays)
