"""Segments and foreground of tokens, by hand."""

import numpy as np
import pytest

from vitviz.analysis.token_colours import (
    assign_tokens,
    cluster_tokens,
    explained_share,
    fit_components,
    split_by_component,
)


def test_clusters_by_hand() -> None:
    tokens = np.array([[0.0], [1.0], [10.0], [11.0], [12.0]])
    centres = cluster_tokens(tokens, 2)
    assert sorted(centres.ravel()) == [0.5, 11.0]
    labels = assign_tokens(tokens, centres)
    assert len(set(labels[:2])) == len(set(labels[2:])) == 1 and labels[0] != labels[2]
    assert assign_tokens(np.array([[5.0], [6.0]]), centres).tolist() == [labels[0], labels[2]]


def test_no_other_assignment_of_the_result_is_nearer() -> None:
    tokens = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    centres = cluster_tokens(tokens, 5)
    labels = assign_tokens(tokens, centres)
    distances = np.array([[((t - c) ** 2).sum() for c in centres] for t in tokens.astype(float)])
    assert (labels == distances.argmin(axis=1)).all()
    for label in set(labels.tolist()):  # a fixed point of Lloyd's algorithm
        np.testing.assert_allclose(centres[label], tokens[labels == label].mean(axis=0), atol=1e-6)
    assert (cluster_tokens(tokens, 5) == centres).all()


def test_the_foreground_is_the_side_of_the_component_that_the_border_is_not_on() -> None:
    inside = np.zeros((6, 6), bool)
    inside[2:4, 2:5] = True
    for sign in (1, -1):
        tokens = np.where(inside[..., None], sign * np.array([2.0, 1.0]), [0.0, 0.5])
        assert (split_by_component(tokens) == inside).all()


def test_the_explained_share_is_of_the_tokens_own_variance() -> None:
    rng = np.random.default_rng(2)
    fitted, other = rng.normal(size=(50, 6)), rng.normal(size=(30, 6)) * [3, 1, 1, 1, 1, 1]
    components = fit_components(fitted)
    assert explained_share(components, fitted) == pytest.approx(components.shares.sum())
    projected = (other - other.mean(axis=0)) @ components.axes
    assert explained_share(components, other) == pytest.approx(
        (projected**2).sum() / ((other - other.mean(axis=0)) ** 2).sum()
    )
    assert explained_share(components, np.ones((4, 6))) == 0.0
