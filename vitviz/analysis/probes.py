"""Train linear probes on a layer's features (Alain and Bengio 2017)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.image_means import compute_half_width
from vitviz.analysis.verdict import compare_values

FloatArray = NDArray[np.floating[Any]]
Labels = NDArray[np.int64]
MOST_PLACES = 64  # of an image, evenly over its grid
RIDGE, CLASS_RIDGE = 1.0, 100.0
FOLDS, SPLITS = 3, 10
PENALTY = 0.1  # scikit-learn's C: small, as features outnumber images in some layers
STEPS = 3000
CLOSE = 1e-3


@dataclass(frozen=True)
class ProbeScore:
    """Accuracy, or R² of positions, over `count` test images, with its interval.

    Attributes:
        right: (count,), how often each image is classified correctly over all splits, or its R²; None of one
            evaluation.
    """

    share: float
    count: int
    right: FloatArray | None = None

    @property
    def error(self) -> float:
        """Standard error over the images: the deviation of `right` over √n, or sqrt(p (1 - p) / n)."""
        if self.right is not None:
            return float(self.right.std(ddof=1) / np.sqrt(self.count))
        return float(np.sqrt(self.share * (1 - self.share) / self.count))

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval over the images."""
        return compute_half_width(self.error * float(np.sqrt(self.count)), self.count)


def class_probe(features: FloatArray, labels: Labels) -> ProbeScore:
    """Return the cross-validated accuracy of a ridge regression of the class, the mean over `SPLITS` splits.

    A split parts the images into `FOLDS` with as many of each class in each; every part is read by a map fitted to
    all the others, so no image is tested by a map that has seen it.

    Args:
        features: (n, D); each is brought to mean 0 and variance 1 over the images that a map is fitted to.
        labels: (n,).
    """
    right = np.zeros((SPLITS, len(labels)))
    for split in range(SPLITS):
        part = split_parts(labels, FOLDS, split)
        for fold in range(FOLDS):
            fit, test = part != fold, part == fold
            right[split, test] = _predict_by_ridge(features[fit], labels[fit], features[test]) == labels[test]
    return ProbeScore(float(right.mean()), len(labels), right.mean(axis=0))


def linear_accuracy(train: FloatArray, labels: Labels, test: FloatArray, wanted: Labels) -> float:
    """Return the test accuracy of a logistic regression fitted to the training features.

    Args:
        train, test: (n, D) and (m, D); both are brought to mean 0 and variance 1 of the training images.
        labels, wanted: (n,) and (m,).
    """
    return float((_predict_classes(train, labels, test) == wanted).mean())


def _predict_by_ridge(train: FloatArray, labels: Labels, test: FloatArray) -> Labels:
    """Predict the class with the largest output of a ridge regression to one-hot classes, in its dual form.

    Ten splits take less time than one of a logistic regression, with accuracies within two standard errors.
    """
    deviation = train.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    fit, read = ((side - train.mean(axis=0)) / scale for side in (train.astype(np.float64), test))
    targets = np.eye(int(labels.max()) + 1)[labels]
    kernel = fit @ fit.T + CLASS_RIDGE * np.eye(len(fit))
    weights = fit.T @ np.linalg.solve(kernel, targets - targets.mean(axis=0))
    return np.asarray((read @ weights + targets.mean(axis=0)).argmax(axis=1))


def _predict_classes(train: FloatArray, labels: Labels, test: FloatArray) -> Labels:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regression = LogisticRegression(C=PENALTY, max_iter=STEPS, tol=CLOSE)
    return np.asarray(make_pipeline(StandardScaler(), regression).fit(train, labels).predict(test))


def split_parts(labels: Labels, count: int, seed: int = 0) -> Labels:
    """Assign images to `count` stratified parts, (n,)."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    by_class = shuffled[np.argsort(labels[shuffled], kind="stable")]
    parts = np.empty(len(labels), np.int64)
    parts[by_class] = np.arange(len(labels)) % count
    return parts


def place_probe(maps: FloatArray) -> ProbeScore:
    """Return R² of a ridge regression of each token's row and column on its features, the mean of both.

        R² = 1 - sum (y - ŷ)² / sum (y - mean y)²

    1: it knows its place; 0: no better than the middle of the image. The mean of `SPLITS` splits, each of which tests
    one of `FOLDS` parts of the images. All images have the same places, so that R² is the mean of theirs.

    Args:
        maps: (n, rows, cols, D). At most 64 places of each image count, evenly over the grid.
    """
    images = len(maps)
    tokens, places = _tokens(maps)
    x = tokens.reshape(images, -1, maps.shape[-1]).astype(np.float64)
    y = places.reshape(images, -1, 2)
    total = np.square(y[0] - y[0].mean(axis=0)).sum(axis=0)
    shares = np.full((SPLITS, images), np.nan)
    for split in range(SPLITS):
        part = split_parts(np.zeros(images, np.int64), FOLDS, split // FOLDS)
        test = part == split % FOLDS
        rest = np.square(y[test] - _predict_places(x[~test], y[~test], x[test])).sum(axis=1)
        shares[split, test] = (1 - rest / np.where(total > 0, total, 1)).mean(axis=1)
    by_image = np.nanmean(shares, axis=0)
    return ProbeScore(float(by_image.mean()), images, by_image)


def _predict_places(train: FloatArray, places: FloatArray, test: FloatArray) -> FloatArray:
    """Return (n, k, 2): places of tokens (n, k, D), read by a ridge regression on standardised features."""
    flat, wanted = train.reshape(-1, train.shape[-1]), places.reshape(-1, 2)
    deviation = flat.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    fit = (flat - flat.mean(axis=0)) / scale
    weights = np.linalg.solve(
        fit.T @ fit + RIDGE * np.eye(fit.shape[1]), fit.T @ (wanted - wanted.mean(axis=0))
    )
    return np.asarray((test - flat.mean(axis=0)) / scale @ weights + wanted.mean(axis=0))


def _tokens(maps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n, rows, cols, D) -> tokens (n k, D) and their places (n k, 2), row and column from -1 to 1."""
    some = [evenly(side) for side in maps.shape[1:3]]
    rows, cols = np.meshgrid(*some, indexing="ij")
    tokens = maps[:, rows, cols].reshape(-1, maps.shape[-1])
    spans = [max(side - 1, 1) for side in maps.shape[1:3]]
    places = np.stack(
        [2 * at.ravel() / span - 1 for at, span in zip((rows, cols), spans, strict=True)], axis=1
    )
    return tokens, np.tile(places, (len(maps), 1))


def evenly(side: int) -> Labels:
    """Return at most 8 indices along a side, evenly spaced from edge to edge."""
    return np.asarray(np.linspace(0, side - 1, min(side, int(MOST_PLACES**0.5))).round(), np.int64)


def layers_near_best(accuracies: Sequence[ProbeScore], within: float) -> list[int]:
    """Return the layers that may be the first whose accuracy is no more than `within` below the best.

    A layer may be it if the 95 % interval of its paired difference from the best layer reaches up to `within`; the
    last one is the first layer whose whole interval does.
    """
    rights = [100 * np.asarray(accuracy.right, np.float64) for accuracy in accuracies]
    best = int(np.argmax([accuracy.share for accuracy in accuracies]))
    candidates = []
    for layer, right in enumerate(rights):
        verdict = compare_values(right, rights[best])
        low, high = (end if end is not None else verdict.estimate for end in (verdict.low, verdict.high))
        if high >= -100 * within:
            candidates.append(layer)
        if low >= -100 * within:
            break
    return candidates
