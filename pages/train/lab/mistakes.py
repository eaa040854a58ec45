"""Every held-out picture at every snapshot: what it was read as, for the large table of mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pages.train.lab.flip_pictures import GONE, MOST_NAMES, whole
from vitviz.analysis import mistakes
from vitviz.plots.run_history import Picture, to_bytes

if TYPE_CHECKING:
    from vitviz.probe.snapshot import Frame

NAME, TITLE = "mistakes", "Every mistake, picture by picture"
MOST_PX = 32  # side of a picture as it travels


def picture(frames: Sequence[Frame]) -> Picture:
    """What each held-out picture was read as at each snapshot, and the probability of its true class.

    Args:
        frames: of the snapshots, ascending.
    """
    judged = whole(frame.judged for frame in frames)
    if not judged:
        return Picture(NAME, TITLE, "none", reason=GONE)
    held_out, classes = judged[0].held_out, frames[-1].classes
    right = np.stack([one.guesses == held_out.labels for one in judged])
    told = [mistakes.describe(moment, not i) for i, moment in enumerate(mistakes.story(right))]
    told[-1] = f"{told[-1]} {mistakes.most_forgotten(right, held_out.labels, classes)}".rstrip()
    return Picture(
        NAME,
        TITLE,
        "mistakes",
        np.stack([np.stack([_small(one.guesses), to_bytes(one.given, 0.0, 1.0)]) for one in judged]),
        captions=told,
        extra={
            "names": list(classes),
            "labels": held_out.labels.tolist(),
            "table": len(classes) <= MOST_NAMES,
        },
        base=small(held_out.pictures),
    )


def _small(guesses: NDArray[np.integer[Any]]) -> NDArray[np.uint8]:
    small: NDArray[np.uint8] = np.minimum(guesses, 255).astype(np.uint8)
    return small


def small(pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(n, H, W, 3) pictures as they travel: at most `MOST_PX` a side by averaging, (n, h, w) where they are grey."""
    grey = bool((pictures[..., :1] == pictures).all())
    shown = pictures[..., :1] if grey else pictures
    part = -(-max(shown.shape[1:3]) // MOST_PX)
    rows, cols = (side // part for side in shown.shape[1:3])
    cut = shown[:, : rows * part, : cols * part].reshape(len(shown), rows, part, cols, part, -1)
    made = cut.mean(axis=(2, 4)).round().astype(np.uint8)
    return np.ascontiguousarray(made[..., 0] if grey else made)
