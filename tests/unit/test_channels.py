"""What channels respond to, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.messages import unpack
from vitviz.analysis import channels as c
from vitviz.plots import layers as plots
from vitviz.plots.photo import encode_photo


def maps() -> np.ndarray:
    """Three images of 2 x 2 places and two channels; the second channel never answers."""
    first = np.array([[[0, 4], [1, 2]], [[8, 0], [0, 0]], [[1, 1], [6, 1]]], float)
    return np.stack([first, np.zeros_like(first)], axis=-1)


def test_the_strongest_answer_and_its_place() -> None:
    peaks = c.Peaks.joined([c.Peaks.of(maps()[:2]), c.Peaks.of(maps()[2:])])
    assert peaks.values.tolist() == [[4, 0], [8, 0], [6, 0]]
    assert peaks.places[:, 0].tolist() == [1, 0, 2]
    assert peaks.top(0, 2).tolist() == [1, 2]


def test_how_near_an_image_comes_to_the_strongest() -> None:
    peaks = c.Peaks.of(maps())
    assert c.response_shares(maps()[1], peaks, 2).tolist() == [
        pytest.approx(8 / 7),
        0,
    ]  # the other one is silent
    values = np.array([[10.0, 0.7, 8.0]] * 3, np.float32)
    nearly = c.Peaks(values, np.zeros((3, 3), np.int64))
    assert c.response_shares(np.full((1, 1, 3), 5.0), nearly, 2).tolist() == [
        pytest.approx(0.5),
        0,
        pytest.approx(0.625),
    ]
    assert c.rank_channels(np.array([0.2, 3.0, 1.0]), 2) == [1, 2]


def test_how_many_are_of_one_class() -> None:
    peaks = c.Peaks.of(maps())
    labels = np.array([0, 1, 1])
    assert c.count_largest_class(labels) == 2
    assert c.class_purities(peaks, labels, 2).tolist() == [
        2
    ]  # images 1 and 2; the dead channel does not count
    assert c.class_purities(peaks, np.array([1, 0, 1]), 2).tolist() == [1]


def test_chance_is_that_of_draws_without_looking() -> None:
    assert c.chance_purity(np.zeros(20, int), 9) == 9
    # Two of two classes, 10 images each: the same class with 9/19, so 1 + 9/19.
    assert c.chance_purity(np.repeat([0, 1], 10), 2) == pytest.approx(1 + 9 / 19, abs=0.03)


def test_maps_and_patches_travel() -> None:
    patches = [np.full((3, 3, 3), value, np.uint8) for value in (10, 20)]
    tops = [plots.Top(patch, name, 1.5, at) for patch, name, at in zip(patches, "ab", (7, 9), strict=True)]
    map_ = np.array([[0, 2], [-1, 4]], np.float32)
    stage = plots.StageChannels("Stem", "note", [plots.Channel(5, map_, 2.5, tops)])
    header, arrays = unpack(plots.channels_view(encode_photo(np.zeros((4, 4, 3), np.uint8)), [stage]))
    assert arrays["maps0"].tolist() == [[[0, 128], [0, 255]]]
    (reported,) = header["stages"]
    assert (reported["kind"], reported["side"], reported["most"]) == ("image/png", 3, [4.0])
    assert reported["channels"][0] == {
        "number": 5,
        "share": 2.5,
        "tops": [{"name": "a", "value": 1.5, "image": 7}, {"name": "b", "value": 1.5, "image": 9}],
    }


def test_large_patches_travel_as_jpeg() -> None:
    kind, data = plots.sprite(np.zeros((1, 2, 32, 32, 3), np.uint8))
    assert kind == "image/jpeg" and data[:2].tobytes() == b"\xff\xd8"
