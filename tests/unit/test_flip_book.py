"""What the lab's client views are sent."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import Leaves, unpack
from vitviz.plots import flip_book, training_curves


def series(n: int) -> training_curves.Series:
    steps = np.arange(1, n + 1, dtype=np.float64)
    return training_curves.Series("a", "train", np.stack([steps, steps / 10, steps / 7]), {"loss": 1 / steps})


def test_curves_carry_every_row_of_a_run() -> None:
    label = training_curves.RunLabel("a", "first", "#0072B2", {"step": 9}, best_step=3, leads=True)
    header, arrays = unpack(training_curves.payload([label], [series(3)], "a", 2, {"axis": "step"}))
    assert header["series"] == [{"run": "a", "split": "train", "metrics": ["loss"], "ghost": "", "images": 0}]
    assert header["runs"][0]["best_step"] == 3
    np.testing.assert_allclose(
        arrays["series0"], [[1, 2, 3], [0.1, 0.2, 0.3], [1 / 7, 2 / 7, 3 / 7], [1, 0.5, 1 / 3]], rtol=1e-6
    )


def test_long_runs_are_thinned_but_keep_their_ends() -> None:
    _, arrays = unpack(training_curves.payload([], [series(10_000)], None, None, {}))
    steps = arrays["series0"][0]
    assert len(steps) == training_curves.MOST_POINTS
    assert (steps[0], steps[-1]) == (1, 10_000)
    assert (np.diff(steps) > 0).all()


def test_eight_runs_curves_weigh_what_one_runs_do() -> None:
    labels = [training_curves.RunLabel(name, name, "#0072B2", {}) for name in "abcdefgh"]
    one = training_curves.payload(labels[:1], [series(10_000)], None, None, {})
    eight = training_curves.payload(labels, [series(10_000)] * 8, None, None, {})
    assert len(eight) < len(one) + 2_000  # their names and keys


def test_bytes_are_off_by_half_a_step_at_most() -> None:
    values = np.linspace(-1, 1, 1001)
    coded = flip_book.to_bytes(values, -1, 1).astype(float)
    np.testing.assert_allclose(-1 + 2 * coded / 255, values, atol=1 / 255 + 1e-9)
    assert flip_book.to_bytes(np.array([-9.0, 9.0]), -1, 1).tolist() == [0, 255]


def make_images(count: int) -> list[flip_book.Picture]:
    frames = np.arange(count, dtype=np.uint8)[:, None, None, None, None] + np.zeros((1, 1, 3, 3), np.uint8)
    returned = [f"frame {i}" for i in range(count)]
    base = np.full((4, 4, 3), 7, np.uint8)
    return [
        flip_book.Picture(
            "m",
            "A map",
            "overlay",
            frames,
            tops=[1.0 + i for i in range(count)],
            captions=returned,
            base=base,
        ),
        flip_book.Picture("n", "Nothing", "none", reason="because"),
        flip_book.Picture("t", "Tiles", "rgb", frames, tiles=[["x"]] * count, extra={"names": ["x"]}),
    ]


def sent(shelf: flip_book.LeafShelf, count: int, now: float) -> bytes:
    """A message without the address of a view, of a book of so many snapshots."""
    steps, moments = [5 * i for i in range(count)], [f"epoch {i}" for i in range(count)]
    made = flip_book.cut(make_images(count), count)
    return b"\0" * 4 + flip_book.payload("run", steps, moments, made, shelf=shelf, clock_s=now)


def test_a_flip_book_has_one_frame_per_snapshot() -> None:
    book = Leaves().bound(sent(flip_book.LeafShelf(), 2, 0.0))
    assert book is not None
    header, arrays = book
    assert header["steps"] == [0, 5] and header["moments"] == ["epoch 0", "epoch 1"]
    assert arrays["m"].shape == (2, 1, 1, 3, 3) and arrays["m"][:, 0, 0, 0, 0].tolist() == [0, 1]
    assert (arrays["m_base"] == 7).all() and arrays["m_base"].shape == (4, 4, 3)
    first, absent, tiles = header["pictures"]
    assert (first["kind"], first["captions"], first["tops"]) == (
        "overlay",
        ["frame 0", "frame 1"],
        [1.0, 2.0],
    )
    assert (absent["kind"], absent["reason"], tiles["tiles"], tiles["names"]) == (
        "none",
        "because",
        [["x"], ["x"]],
        ["x"],
    )


def test_a_leaf_travels_until_it_has_settled_and_then_no_more() -> None:
    shelf, browser = flip_book.LeafShelf(), Leaves()
    assert browser.bound(sent(shelf, 40, 0.0)) is not None
    again = sent(shelf, 40, flip_book.SETTLED_S / 2)  # the first may have been overtaken before it was drawn
    assert Leaves().bound(again) is not None
    later = sent(shelf, 41, 10.0)
    assert unpack(later[4:])[1]["data"].size == 2 * 9  # a new snapshot's two frames
    book = browser.bound(later)
    assert book is not None and book[1]["m"][:, 0, 0, 0, 0].tolist() == [*range(41)]
    quiet = sent(shelf, 41, 20.0)
    assert unpack(quiet[4:])[0]["fresh"] == [] and browser.bound(quiet) is not None
    assert len(quiet) < len(again) / 4


def test_a_browser_that_lacks_a_leaf_says_so_and_another_shelf_brings_all() -> None:
    shelf, late = flip_book.LeafShelf(), Leaves()
    sent(shelf, 3, 0.0)
    assert late.bound(sent(shelf, 3, 10.0)) is None  # a reload, or a message that was lost
    shelf.clear()
    book = late.bound(sent(shelf, 3, 11.0))
    assert book is not None and book[1]["m"].shape[0] == 3


def test_a_snapshot_made_anew_travels_anew_and_what_it_shares_does_not() -> None:
    shelf, browser = flip_book.LeafShelf(), Leaves()
    browser.bound(sent(shelf, 2, 0.0))
    other = make_images(2)
    assert other[0].frames is not None
    other[0].frames[1] += 1  # the tiles share this array
    message = flip_book.payload(
        "run", [0, 5], ["epoch 0", "epoch 1"], flip_book.cut(other, 2), shelf=shelf, clock_s=10.0
    )
    assert len(unpack(message)[0]["fresh"]) == 2
    book = browser.bound(b"\0" * 4 + message)
    assert book is not None and book[1]["m"][1].max() == 2


def test_a_shelf_that_is_full_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flip_book, "MOST_LEAVES", 20)
    shelf, browser = flip_book.LeafShelf(), Leaves()
    name = shelf.name
    browser.bound(sent(shelf, 5, 0.0))
    assert shelf.name == name
    book = browser.bound(sent(shelf, 9, 10.0))
    assert shelf.name != name and book is not None and len(book[0]["steps"]) == 9


def test_an_empty_book_is_a_message_too() -> None:
    message = flip_book.payload("run", [], [], flip_book.Book(), shelf=flip_book.LeafShelf(), waiting="soon")
    book = Leaves().bound(b"\0" * 4 + message)
    assert book is not None and (book[0]["steps"], book[0]["waiting"]) == ([], "soon")
