"""Linear probes, on features whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis import probes as p
from vitviz.plots.layers import LayerLine, over_depth_figure


def test_a_class_that_is_there_is_read_and_one_that_is_not_is_not() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400)
    there = np.eye(4)[labels] @ rng.normal(size=(4, 12)) + 0.05 * rng.normal(size=(400, 12))
    found = p.class_probe(there, labels)
    assert found.share == 1 and found.count == 400 and found.error == 0
    assert p.class_probe(rng.normal(size=(400, 12)), labels).share < 0.4


def test_no_image_is_read_by_a_map_that_has_seen_it() -> None:
    rng = np.random.default_rng(4)
    names = np.eye(120)  # each image has a feature of its own: a map that has seen it knows it by heart
    labels = rng.integers(0, 2, 120)
    assert p.class_probe(names, labels).share < 0.65


def test_a_linear_map_does_not_read_what_is_not_linear() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 2))
    labels = (x[:, 0] * x[:, 1] > 0).astype(np.int64)  # exclusive or: no line parts the two
    assert p.class_probe(x, labels).share < 0.65
    more = np.concatenate([x, x[:, :1] * x[:, 1:]], axis=1)
    assert p.class_probe(more, labels).share > 0.9


def test_parts_hold_each_class_alike_and_need_not_hold_them_all() -> None:
    labels = np.repeat([0, 1, 2], [9, 6, 1])
    part = p.split_parts(labels, 3)
    assert [np.bincount(part[labels == label], minlength=3).tolist() for label in (0, 1)] == [
        [3, 3, 3],
        [2, 2, 2],
    ]
    assert np.bincount(part).max() - np.bincount(part).min() <= 1


def test_the_standard_error_of_a_share() -> None:
    assert p.ProbeScore(0.5, 100).error == pytest.approx(0.05)


def test_a_place_that_tokens_carry_is_read() -> None:
    rng = np.random.default_rng(2)
    rows, cols = np.mgrid[:6, :8]
    place = np.stack([rows, cols], axis=-1) @ rng.normal(size=(2, 10))
    maps = place + 0.01 * rng.normal(size=(12, 6, 8, 10))
    assert p.place_probe(maps).share > 0.99
    noise = rng.normal(size=(60, 6, 8, 10))
    assert p.place_probe(noise).share < 0.05


def test_only_the_row_is_half_of_it() -> None:
    rng = np.random.default_rng(3)
    rows, _ = np.mgrid[:8, :8]
    maps = np.concatenate(
        [np.tile(rows[None, ..., None], (40, 1, 1, 1)), rng.normal(size=(40, 8, 8, 2))], axis=-1
    )
    score = p.place_probe(maps)
    assert score.share == pytest.approx(0.5, abs=0.03)
    assert score.right is not None and score.share == pytest.approx(score.right.mean()) and score.count == 40
    assert score.half_width == pytest.approx(2.0227 * score.right.std(ddof=1) / 40**0.5, rel=1e-3)


def test_r2_of_positions_equals_that_of_scikit_learn_on_each_split() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.metrics import r2_score
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(5)
    rows, cols = np.mgrid[:3, :4]
    maps = np.stack([rows, cols], axis=-1) @ rng.normal(size=(2, 6)) + rng.normal(size=(9, 3, 4, 6))
    places = np.stack([rows.ravel() - 1, cols.ravel() / 1.5 - 1], axis=1)
    by_image = np.full((p.SPLITS, 9), np.nan)
    for split in range(p.SPLITS):
        test = p.split_parts(np.zeros(9, np.int64), p.FOLDS, split // p.FOLDS) == split % p.FOLDS
        scaler = StandardScaler().fit(maps[~test].reshape(-1, 6))
        ridge = Ridge(alpha=p.RIDGE).fit(
            scaler.transform(maps[~test].reshape(-1, 6)), np.tile(places, (6, 1))
        )
        for image in np.flatnonzero(test):
            by_image[split, image] = r2_score(
                places, ridge.predict(scaler.transform(maps[image].reshape(-1, 6)))
            )
    assert p.place_probe(maps).share == pytest.approx(np.nanmean(by_image, axis=0).mean())


def test_large_grids_are_looked_at_evenly() -> None:
    assert p.evenly(4).tolist() == [0, 1, 2, 3]
    assert p.evenly(32).tolist() == [0, 4, 9, 13, 18, 22, 27, 31]


def test_layers_that_the_images_do_not_tell_apart_may_all_be_the_first() -> None:
    def accuracy(right: int, images: int = 1000) -> p.ProbeScore:
        return p.ProbeScore(right / images, images, (np.arange(images) < right).astype(float))

    assert p.layers_near_best([accuracy(n) for n in (200, 700, 790, 800)], 0.02) == [2]
    unsure = [accuracy(200), accuracy(772), accuracy(800)]
    assert p.layers_near_best(unsure, 0.02) == [1, 2], "2.8 ± 1.0 points below: within 2 points or not"


def test_an_accuracy_is_the_mean_of_ten_splits() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 3
    features = rng.normal(size=(120, 8)) + 0.7 * np.eye(3)[labels] @ rng.normal(size=(3, 8))
    accuracy = p.class_probe(features, labels)
    assert accuracy.right is not None and accuracy.share == pytest.approx(accuracy.right.mean())
    assert {*np.round(10 * accuracy.right).astype(int)} <= {*range(11)}
    assert 0 < ((accuracy.right > 0) & (accuracy.right < 1)).sum(), "some images depend on the split"
    assert accuracy.error == pytest.approx(accuracy.right.std(ddof=1) / 120**0.5)


def test_the_figure_holds_the_numbers() -> None:
    lines = [
        LayerLine("ViT", ["a", "b", "c"], [0.1, 0.5, 0.9], 0, [0.01, 0.02, 0.03], 0.85),
        LayerLine("CNN", ["a"], [0.3], 1),
    ]
    figure = (
        over_depth_figure(lines, ("vit", "cnn"), "read right", 0.1, "light", share=True)
        .to_plotly()
        .to_plotly_json()
    )
    assert [list(trace["x"]) for trace in figure["data"]] == [[0, 0.5, 1], [0]]
    assert list(figure["data"][0]["error_y"]["array"]) == [1, 2, 3]
    assert [shape["y0"] for shape in figure["layout"]["shapes"]] == [85, 10]
