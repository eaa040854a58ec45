"""Track each validation image through training: learned, forgotten or never classified correctly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.text import plural

Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Moment:
    """One snapshot beside the one before it: how many images are wrong, and how they came to be so."""

    images: int
    wrong: int
    lost: int  # of the wrong ones, right at the snapshot before
    gained: int  # right now, wrong at the snapshot before
    never: int  # of the wrong ones, right at no snapshot up to this one


def story(right: Booleans) -> list[Moment]:
    """Return a moment for each snapshot.

    Args:
        right: (snapshots, images), whether an image is read as what it is.
    """
    found = []
    for i, now in enumerate(right):
        before = right[i - 1] if i else now
        never = ~right[: i + 1].any(axis=0)
        counts = (~now, before & ~now, ~before & now, never)
        found.append(Moment(right.shape[1], *(int(part.sum()) for part in counts)))
    return found


def forgotten(right: Booleans) -> NDArray[np.int64]:
    """Return how often each image was right at one snapshot and wrong at the next (Toneva et al. 2019).

    Args:
        right: (snapshots, images).

    Returns:
        (images,); of snapshots and not of updates, so what is lost and learned again between two is not seen.
    """
    lost: Booleans = right[:-1] & ~right[1:]
    times: NDArray[np.int64] = lost.sum(axis=0, dtype=np.int64)
    return times


def describe(moment: Moment, first: bool) -> str:
    """Return one or two sentences about a moment; `first`: there is no snapshot before it."""
    are = "is" if moment.wrong == 1 else "are"
    said = f"{moment.wrong:,} of {plural(moment.images, 'held-out image')} {are} read as something else."
    if first:
        return said
    were = "was" if moment.lost == 1 else "were"
    never = "was" if moment.never == 1 else "were"
    return (
        f"{said} Of these {moment.lost:,} {were} right at the snapshot before and {moment.never:,} {never} right at"
        f" no snapshot so far; {moment.gained:,} came right since."
    )


def most_forgotten(right: Booleans, labels: NDArray[np.integer[Any]], classes: Sequence[str]) -> str:
    """Describe how many images were forgotten and which was forgotten most often; '' if none was."""
    times = forgotten(right)
    if not times.size or not times.max():
        return ""
    worst = int(times.argmax())
    said = f"{plural(int((times > 0).sum()), 'picture')} came right and went wrong again"
    often = f", one of them ({classes[labels[worst]]}) {times[worst]:,} times" if times[worst] > 1 else ""
    return f"{said}{often}."
