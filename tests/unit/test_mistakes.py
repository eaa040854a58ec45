"""What becomes of held-out images while a model learns, by hand, and how they travel."""

from __future__ import annotations

import re

import numpy as np

from pages.train.lab import flip_book_images as lab
from vitviz.analysis import mistakes
from vitviz.analysis.mistakes import MistakeCounts
from vitviz.plots import flip_book
from vitviz.probe.snapshot_evaluation import HeldOut, SnapshotFrame, SnapshotPredictions

# Of four images: always right, learned, learned and forgotten, never right.
RIGHT = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0]], bool)


def test_every_wrong_image_has_its_story() -> None:
    assert mistakes.track_moments(RIGHT) == [
        MistakeCounts(4, 3, 0, 0, 3),
        MistakeCounts(4, 1, 0, 2, 1),
        MistakeCounts(4, 2, 1, 0, 1),
    ]
    assert mistakes.count_forgotten(RIGHT).tolist() == [0, 0, 1, 0]
    first, _, last = mistakes.track_moments(RIGHT)
    assert re.findall(r"\d+", mistakes.describe_moment(first, True)) == ["3", "4"]
    assert re.findall(r"\d+", mistakes.describe_moment(last, False)) == ["2", "4", "1", "1", "0"]
    labels = np.array([0, 0, 1, 1])
    sentence = mistakes.describe_forgotten(RIGHT, labels, ("cat", "dog"))
    assert re.findall(r"\d+|cat|dog", sentence) == ["1"]
    twice = np.concatenate([RIGHT, RIGHT[1:]])
    assert re.findall(r"cat|dog|\d+", mistakes.describe_forgotten(twice, labels, ("cat", "dog")))[-2:] == [
        "dog",
        "2",
    ]
    assert mistakes.describe_forgotten(RIGHT[:2], labels, ("cat", "dog")) == ""


def frames(side: int, colours: bool) -> list[SnapshotFrame]:
    dice = np.random.default_rng(0)
    images = dice.integers(0, 256, (4, side, side, 3), dtype=np.uint8)
    if not colours:
        images = np.broadcast_to(images[..., :1], images.shape)
    held_out = HeldOut(np.zeros((4, 1, 8, 8), np.float32), np.array([0, 0, 1, 1]), images)
    made = []
    for right in RIGHT:
        guesses = np.where(right, held_out.labels, 1 - held_out.labels)
        given = np.where(right, 0.8, 0.2)
        judged = SnapshotPredictions(held_out, guesses, given, np.zeros((2, 2), np.int64), images[:1], ("",))
        made.append(SnapshotFrame(("cat", "dog"), judged, None))
    return made


def test_guesses_probabilities_and_images_travel() -> None:
    image = lab.build_mistakes(frames(8, colours=False))
    assert image.frames is not None and image.base is not None
    assert image.frames[:, 0].tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert image.frames[2, 1].tolist() == [80, 80, 20, 20]  # whole percents
    assert image.base.shape == (4, 8, 8) and image.extra["labels"] == [0, 0, 1, 1]
    forgotten = mistakes.describe_forgotten(RIGHT, np.array([0, 0, 1, 1]), ("cat", "dog"))
    assert image.captions[-1].endswith(forgotten) and forgotten not in image.captions[0]
    book = flip_book.cut([image], 3)
    assert [len(row) for row in (flip_book.Book(frames=((), (), ())) + book).frames] == [1, 1, 1]
    assert book.bases[0].data.size == 4 * 8 * 8


def test_large_images_are_made_small_and_colours_stay() -> None:
    shown = frames(70, colours=True)[0].judged
    assert shown is not None
    made = lab.shrink_images(shown.held_out.images)
    assert made.shape == (4, 23, 23, 3)
    assert made[0, 0, 0].tolist() == shown.held_out.images[0, :3, :3].mean(axis=(0, 1)).round().tolist()


def test_without_its_images_a_run_says_so() -> None:
    gone = lab.build_mistakes([SnapshotFrame(("cat", "dog"), None, None)])
    assert gone.kind == "none" and "not on this server" in gone.reason
