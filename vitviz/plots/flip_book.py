"""Pack small images of every snapshot of a run for the browser.

A book is cut into leaves, and each leaf travels to a browser once: the twin of `payload` is
pages/train/lab/flip_book.js, which keeps what it was sent and asks for all again where a leaf is missing.
"""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.plots.blob import describe, pack

LeafKind = Literal["map", "overlay", "rgb", "dots", "mistakes", "none"]
SETTLED_S = (
    1.5  # a message may be overtaken by the next before it is drawn: a leaf stands in all of this long
)
MOST_LEAVES = 2**16  # a number of a leaf is a uint16
MOST_BYTES = 32 * 2**20  # of leaves that a browser keeps


@dataclass(frozen=True, eq=False)
class Picture:
    """One small image over time.

    frames: (S, R, C, h, w) uint8 maps in R rows and C columns, (S, R, C, h, w, 3) for 'rgb', (S, layers, heads)
    for 'dots', (S, 2, n) for 'mistakes': what each of n images is read as, and its true class's probability; None
    for 'none', which shows the `reason` instead. 0 and 255 stand for `lo` and `hi`.
    """

    name: str
    title: str
    kind: LeafKind
    frames: NDArray[np.uint8] | None = None
    ramp: Literal["diverging", "sequential"] = "sequential"
    lo: float = 0.0
    hi: float = 1.0
    tops: Sequence[
        float
    ] = ()  # what 255 stands for in each frame, where it is not hi; hi is then their largest
    captions: Sequence[str] = ()
    page: str | None = None  # the lens that shows it large
    opens: str = ""
    reason: str = ""
    extra: dict[str, Any] = field(default_factory=dict)  # rows, cols, names, tile, mark, series, table
    tiles: Sequence[Sequence[str]] = ()  # words under the tiles of each frame
    base: NDArray[np.uint8] | None = None  # (H, W, 3), under an 'overlay'; the n images of 'mistakes'


def to_bytes(values: NDArray[np.floating[Any]], lo: float, hi: float) -> NDArray[np.uint8]:
    """Quantise values to 0..255 between lo and hi, clipped."""
    scaled = (np.asarray(values, dtype=np.float64) - lo) * (255.0 / (hi - lo))
    return np.clip(np.round(scaled), 0, 255).astype(np.uint8)


class Leaf:
    """A part of a book that is sent once: texts and bytes. Leaves with the same content have the same key."""

    def __init__(self, words: Any, pixels: NDArray[np.uint8] | None = None) -> None:
        self.words = words
        self.data = np.empty(0, np.uint8) if pixels is None else np.ascontiguousarray(pixels).reshape(-1)
        text = json.dumps(words, separators=(",", ":"), allow_nan=False).encode()
        self.key = blake2b(text + b"\0" + self.data.tobytes(), digest_size=16).digest()


@dataclass(frozen=True, eq=False)
class Book:
    """Images cut into leaves; `frames` holds one tuple a snapshot, with a leaf for each image that has frames."""

    described: tuple[Leaf, ...] = ()
    bases: tuple[Leaf, ...] = ()  # of the images that have one, in their order
    frames: tuple[tuple[Leaf, ...], ...] = ()

    def __add__(self, other: "Book") -> "Book":
        """Join two books of the same snapshots."""
        frames = tuple(ours + theirs for ours, theirs in zip(self.frames, other.frames, strict=True))
        return Book(self.described + other.described, self.bases + other.bases, frames)


def cut(images: Sequence[Picture], count: int) -> Book:
    """Cut the images of the snapshots into leaves."""
    shown = [(image, image.frames) for image in images if image.frames is not None]
    return Book(
        tuple(Leaf(_describe_leaf(image)) for image in images),
        tuple(Leaf(None, image.base) for image in images if image.base is not None),
        tuple(
            tuple(Leaf(_describe_frame(image, i), frames[i]) for image, frames in shown) for i in range(count)
        ),
    )


def _describe_leaf(image: Picture) -> dict[str, Any]:
    """Return the properties of an image that are the same at every snapshot."""
    return {
        **describe(image, "name", "title", "kind", "ramp", "lo", "hi", "page", "opens", "reason"),
        "shape": None if image.frames is None else image.frames.shape[1:],
        "base": None if image.base is None else image.base.shape,
        **image.extra,
    }


def _describe_frame(image: Picture, i: int) -> dict[str, Any]:
    """Return the texts of one frame."""
    every: tuple[tuple[str, Sequence[Any]], ...] = (
        ("caption", image.captions),
        ("top", image.tops),
        ("tiles", image.tiles),
    )
    return {name: values[i] for name, values in every if values}


class LeafShelf:
    """The numbered parts of a run's history that one browser has received. Not safe for two threads at once."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all leaves, so that all are sent again."""
        self.name = secrets.token_hex(4)
        self._sent: dict[bytes, tuple[int, float]] = {}
        self._bytes = 0

    def send(self, leaves: Sequence[Leaf], clock_s: float) -> tuple[list[int], dict[int, Leaf]]:
        """Return each leaf's number, and those leaves that the browser may not have yet, by number."""
        size = sum(leaf.data.size for leaf in leaves if leaf.key not in self._sent)
        if len(self._sent) + len(leaves) > MOST_LEAVES or self._bytes + size > MOST_BYTES:
            self.clear()
        numbers, fresh = [], {}
        for leaf in leaves:
            if leaf.key not in self._sent:
                self._bytes += leaf.data.size
            number, since = self._sent.setdefault(leaf.key, (len(self._sent), clock_s))
            numbers.append(number)
            if clock_s - since < SETTLED_S:
                fresh[number] = leaf
        return numbers, fresh


def payload(
    run: str,
    steps: Sequence[int],
    moments: Sequence[str],
    book: Book,
    *,
    shelf: LeafShelf,
    moment: int | None = None,
    waiting: str = "",
    plays: bool = False,
    clock_s: float | None = None,
) -> bytes:
    """Pack the flip-book's message: the numbers of all its leaves, and those leaves that are not on the
    browser's shelf.

    Args:
        steps: of the snapshots, ascending.
        moments: one line per snapshot, such as 'epoch 2.1 · validation 91.2 %'.
        moment: the step to show; None follows the newest.
        waiting: what is said while there is no snapshot.
        plays: from its first snapshot, by itself, where the browser has not shown it before.
        clock_s: the time, by default that of the monotonic clock.
    """
    rows = [(Leaf(words), *frames) for words, frames in zip(moments, book.frames, strict=True)]
    leaves = [*book.described, *book.bases, *(leaf for row in rows for leaf in row)]
    numbers, fresh = shelf.send(leaves, time.monotonic() if clock_s is None else clock_s)
    begin = len(book.described) + len(book.bases)
    header = {
        "run": run,
        "shelf": shelf.name,
        "steps": list(steps),
        "pictures": numbers[: len(book.described)],
        "bases": numbers[len(book.described) : begin],
        "fresh": [[number, leaf.words, leaf.data.size] for number, leaf in fresh.items()],
        "moment": moment,
        "waiting": waiting,
        "plays": plays,
    }
    pixels = np.concatenate([np.empty(0, np.uint8), *(leaf.data for leaf in fresh.values())])
    pages = np.array(numbers[begin:], np.uint16).reshape(len(rows), -1 if rows else 0)
    return pack(header, pages=pages, data=pixels)
