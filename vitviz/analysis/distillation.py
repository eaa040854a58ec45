"""Compute the gain from a teacher, seed by seed, and compare the two tokens and heads of a DeiT and its teacher."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.attention import softmax

# Ways to combine the two heads of the student, by the field of a stored row; the first is its 'test'.
ANSWERS = {
    "deit": "Mean of the logits",
    "test_softmax_sum": "Sum of the softmaxes",
    "test_cls": "[CLS] only",
    "test_dist": "[DIST] only",
}


def token_similarity(stream: NDArray[Any]) -> NDArray[np.float64]:
    """Return the cosine between the two prefix tokens after every block: x·y / (‖x‖ ‖y‖) (DeiT paper, section 4).

    Args:
        stream: (..., tokens, D), the residual stream, [CLS] and the distillation token first; leading
            axes such as depth are kept.

    Returns:
        (...,) in [-1, 1]; 0 where a token is the zero vector.
    """
    x, y = (stream[..., token, :].astype(np.float64) for token in (0, 1))
    lengths = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    products = (x * y).sum(axis=-1)
    cosines: NDArray[np.float64] = np.divide(
        products, lengths, out=np.zeros_like(products), where=lengths > 0
    )
    return cosines


def disagreement(decisions: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return the share of images that two classifiers decide differently, for every pair (DeiT paper, table 4).

    Args:
        decisions: (classifiers, images), each classifier's most probable class.

    Returns:
        (classifiers, classifiers), symmetric, zero on the diagonal.
    """
    differs: NDArray[np.float64] = (decisions[:, None] != decisions[None]).mean(axis=-1)
    return differs


def repeated_mistake_share(student: NDArray[Any], teacher: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the share of the teacher's misclassified images that the student classifies alike.

    NaN for a teacher without a mistake.
    """
    wrong = teacher != labels
    return float((student == teacher)[wrong].mean()) if wrong.any() else float("nan")


def combine_heads(by_cls: NDArray[Any], by_dist: NDArray[Any]) -> dict[str, NDArray[np.floating[Any]]]:
    """Return both combinations of the two heads, as class probabilities.

    'mean': softmax((Z_cls + Z_dist) / 2), timm's. 'sum': (softmax Z_cls + softmax Z_dist) / 2, whose order of classes
    is that of the paper's sum (Touvron et al. 2021, section 4).

    Args:
        by_cls: logits (..., classes); `by_dist` alike.
    """
    return {
        "mean": softmax((by_cls + by_dist) / 2),
        "sum": (softmax(by_cls) + softmax(by_dist)) / 2,
    }


def select_cases(
    teacher: NDArray[Any] | None,
    student: NDArray[Any],
    by_cls: NDArray[Any],
    by_dist: NDArray[Any],
    labels: NDArray[Any],
) -> dict[str, NDArray[np.bool_]]:
    """Return masks of images by agreement of student, teacher and heads; without a teacher only of the heads.

    Args:
        teacher, student, by_cls, by_dist: decisions (images,).
        labels: (images,).
    """
    masks = (
        {}
        if teacher is None
        else {
            "teacher and student differ": teacher != student,
            "the student repeats its teacher's mistake": (teacher != labels) & (student == teacher),
            "the student is right where its teacher is wrong": (teacher != labels) & (student == labels),
            "the student is wrong where its teacher is right": (teacher == labels) & (student != labels),
        }
    )
    return masks | {"[CLS] and [DIST] differ": by_cls != by_dist}
