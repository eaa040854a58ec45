"""A student beside its teacher: numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vitviz.analysis.distillation import (
    combine_heads,
    disagreement,
    repeated_mistake_share,
    select_cases,
    token_similarity,
)
from vitviz.plots.distillation import disagreement_figure, similarity_figure


def test_cosine_of_two_tokens_by_hand() -> None:
    """(3, 4) and (4, 3): 24 / 25; orthogonal: 0; a zero vector: 0, not NaN."""
    stream = np.array([[[3.0, 4.0], [4.0, 3.0]], [[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, 1.0]]])
    assert token_similarity(stream) == pytest.approx([0.96, 0.0, 0.0])


def test_disagreement_counts_pairs_of_images() -> None:
    """Three classifiers on four images."""
    found = disagreement(np.array([[0, 1, 2, 3], [0, 1, 2, 0], [1, 1, 2, 0]]))
    assert found == pytest.approx(np.array([[0, 0.25, 0.5], [0.25, 0, 0.25], [0.5, 0.25, 0]]))


def test_repeated_mistakes_are_counted_among_the_teachers_mistakes_only() -> None:
    """The teacher errs on the last two images; the student follows it once, and errs once by itself."""
    labels, teacher = np.array([0, 1, 2, 3]), np.array([0, 1, 0, 0])
    assert repeated_mistake_share(np.array([2, 1, 0, 3]), teacher, labels) == 0.5
    assert np.isnan(repeated_mistake_share(labels, labels, labels))


def test_the_figures_hold_the_numbers() -> None:
    line = similarity_figure(np.array([0.0, 0.5, -1.0]), np.array([0.0, 1.0, 1.0]), 2).to_plotly()
    assert list(line.data[-1].y) == pytest.approx([90, 60, 180])
    assert list(line.data[0].y) == [90, 0, 0]
    assert line.data[-1].marker.symbol == ("circle-open", "circle-open", "circle")
    tiles = disagreement_figure(["a", "b"], np.array([[0, 0.125], [0.125, 0]]), 32).to_plotly()
    assert [note.text for note in tiles.layout.annotations] == ["12.5", "12.5"]
    assert np.isnan(tiles.data[0].z[0][0])
    assert tiles.data[0].customdata[0][1] == pytest.approx([4.97, 28.07], abs=0.01), "Wilson's, of 4 of 32"


def test_the_mean_of_the_logits_and_the_sum_of_the_softmaxes_may_disagree() -> None:
    """One head is sure of class 1; the other's logits are so low there that the mean is class 0's."""
    by_cls, by_dist = np.array([2.0, 0.0, 0.0]), np.array([-1.0, 0.5, 0.0])
    both = combine_heads(by_cls, by_dist)
    np.testing.assert_allclose(both["mean"], np.exp([0.5, 0.25, 0]) / np.exp([0.5, 0.25, 0]).sum())
    expected = [np.exp(z) / np.exp(z).sum() for z in (by_cls, by_dist)]
    np.testing.assert_allclose(both["sum"], np.mean(expected, axis=0))
    sure, unsure = np.array([0.0, 9.0, 0.0]), np.array([6.0, -9.0, 5.0])
    apart = combine_heads(sure, unsure)
    assert apart["mean"].argmax() == 0 and apart["sum"].argmax() == 1


def test_every_case_names_its_images() -> None:
    labels = np.array([0, 1, 2, 3, 4])
    teacher, student = np.array([0, 9, 9, 3, 9]), np.array([0, 9, 2, 8, 7])
    found = select_cases(teacher, student, student, teacher, labels)
    shown = {name: np.flatnonzero(mask).tolist() for name, mask in found.items()}
    assert shown == {
        "teacher and student differ": [2, 3, 4],
        "the student repeats its teacher's mistake": [1],
        "the student is right where its teacher is wrong": [2],
        "the student is wrong where its teacher is right": [3],
        "[CLS] and [DIST] differ": [2, 3, 4],
    }
    assert list(select_cases(None, student, student, teacher, labels)) == ["[CLS] and [DIST] differ"]
