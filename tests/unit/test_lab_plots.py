"""What the lab's client views are sent."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import unpack
from vitviz.plots import curves, life


def series(n: int) -> curves.Series:
    steps = np.arange(1, n + 1, dtype=np.float64)
    return curves.Series("a", "train", np.stack([steps, steps / 10, steps / 7]), {"loss": 1 / steps})


def test_curves_carry_every_row_of_a_run() -> None:
    label = curves.RunLabel("a", "first", 0, {"step": 9}, best_step=3, leads=True)
    header, arrays = unpack(curves.payload([label], [series(3)], "a", 2, {"axis": "step"}))
    assert header["series"] == [{"run": "a", "split": "train", "metrics": ["loss"]}]
    assert header["runs"][0]["best"] == {"step": 3}
    np.testing.assert_allclose(
        arrays["series0"], [[1, 2, 3], [0.1, 0.2, 0.3], [1 / 7, 2 / 7, 3 / 7], [1, 0.5, 1 / 3]], rtol=1e-6
    )


def test_long_runs_are_thinned_but_keep_their_ends() -> None:
    _, arrays = unpack(curves.payload([], [series(10_000)], None, None, {}))
    steps = arrays["series0"][0]
    assert len(steps) == curves.MOST_POINTS
    assert (steps[0], steps[-1]) == (1, 10_000)
    assert (np.diff(steps) > 0).all()


def test_curves_refuse_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="metrics must be of"):
        curves.payload(
            [], [curves.Series("a", "train", np.zeros((3, 1)), {"luck": np.zeros(1)})], None, None, {}
        )
    with pytest.raises(ValueError, match="x must be"):
        curves.payload(
            [], [curves.Series("a", "train", np.zeros((3, 2)), {"loss": np.zeros(1)})], None, None, {}
        )


def test_bytes_are_off_by_half_a_step_at_most() -> None:
    values = np.linspace(-1, 1, 1001)
    coded = life.to_bytes(values, -1, 1).astype(float)
    np.testing.assert_allclose(-1 + 2 * coded / 255, values, atol=1 / 255 + 1e-9)
    assert life.to_bytes(np.array([-9.0, 9.0]), -1, 1).tolist() == [0, 255]


def test_a_flip_book_has_one_frame_per_snapshot() -> None:
    frames = np.zeros((2, 1, 1, 3, 3), np.uint8)
    picture = life.Picture("m", "A map", "map", frames, extra={"names": ["x"]})
    absent = life.Picture("n", "Nothing", "none", reason="because")
    header, arrays = unpack(life.payload("run", [0, 5], ["", ""], [picture, absent], None))
    assert arrays["m"].shape == frames.shape
    assert [p["kind"] for p in header["pictures"]] == ["map", "none"]
    assert header["pictures"][0]["names"] == ["x"]
    with pytest.raises(ValueError, match="must have 3 frames, received 2"):
        life.payload("run", [0, 5, 7], ["", "", ""], [picture], None)
