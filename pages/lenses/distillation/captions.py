"""Sentences about the numbers of the lens 'Distillation'."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import judge_difference
from vitviz.text import percent, plain, plural, signed

TEACHER, CLS, DIST, MEAN, SUM, TWIN = (
    "Teacher",
    "[CLS] head",
    "[DIST] head",
    "Both, mean of the logits",
    "Both, sum of the softmaxes",
    "Twin without a teacher",
)
TARGETS = {"hard": "predicted classes (hard labels)", "soft": "probabilities (soft labels)"}
PredictedClasses = dict[str, NDArray[np.int64]]  # by classifier
NamedScores = tuple[tuple[str, ...], NDArray[np.floating[Any]]]  # class names and probabilities


def describe_heads(scores: Sequence[NamedScores]) -> str:
    """Return what the heads predict; scores: of the teacher, if there is one, of [CLS] and of [DIST]."""
    *teacher, (cls, by_cls), (dist, by_dist) = [
        (names[int(p.argmax())], float(p.max())) for names, p in scores
    ]
    if cls == dist:
        text = (
            f"Both heads predict {plain(cls)}: [CLS] with {percent(by_cls)}, [DIST] with {percent(by_dist)}"
        )
    else:
        text = f"[CLS] predicts {plain(cls)} ({percent(by_cls)}), [DIST] {plain(dist)} ({percent(by_dist)})"
    agrees = teacher and teacher[0][0] == dist
    return f"{text}{f'; the teacher also predicts {plain(dist)}' if agrees else ''}."


def describe_attention(
    by_cls: NDArray[np.floating], by_dist: NDArray[np.floating], shared: float, layer: int, head: int | None
) -> str:
    """Return how much attention both tokens share, from their rows over all keys.

    Args:
        shared: mass of both rows, in [0, 1].
        layer: from 1.
        head: from 1; None for the mean of all heads.
    """
    heads = "mean of all heads" if head is None else f"head {head}"
    return (
        f"[CLS] and [DIST] share {percent(shared, 0)} of their attention in layer {layer}, {heads}. [CLS] gives"
        f" {percent(by_cls[0])} to itself and {percent(by_cls[1])} to [DIST]; [DIST] gives {percent(by_dist[1])} to"
        f" itself and {percent(by_dist[0])} to [CLS]."
    )


def describe_similarity(similarity: NDArray[np.float64], before: NDArray[np.float64] | None) -> str:
    """Return the angles and cosines of both tokens at the first and the last layer; before: before training."""
    first, last, *start = (
        f"{np.degrees(np.arccos(np.clip(cosine, -1, 1))):.0f}°"
        for cosine in (similarity[0], similarity[-1], *([] if before is None else [before[-1]]))
    )
    depth = len(similarity) - 1
    return (
        f"The two tokens are {first} apart at the input and {last} after layer {depth} (cosine similarity"
        f" {signed(similarity[0])} and {signed(similarity[-1])})."
        + (f" Before training, they were {start[0]} apart after the last layer." if start else "")
    )


def describe_differences(entry: dict[str, Any]) -> str:
    """Return which head agrees more with the teacher, and what the teacher adds over all test images."""
    names, differs, accuracy = entry["names"], np.array(entry["differs"]), entry["accuracy"]
    cls, dist, both = (names.index(name) for name in ("[CLS] head", "[DIST] head", "both heads"))
    nearer, other = sorted((cls, dist), key=lambda head: differs[0, head])
    twin = names.index("twin") if "twin" in names else None
    untaught = "" if twin is None else f" and the twin (without a teacher) on {percent(differs[0, twin])}"
    sentences = [
        f"The {names[nearer]} disagrees with the teacher on {percent(differs[0, nearer])} of {entry['pictures']:,} test"
        f" images, the {names[other]} on {percent(differs[0, other])}{untaught}. [DIST] was trained on the teacher's"
        f" {TARGETS[entry['taught']]}. Each cell is the percentage of images on which two classifiers disagree."
    ]
    if twin is not None:
        gain, images = accuracy[both] - accuracy[twin], entry["pictures"]
        verdict = judge_difference(100 * gain, 1e4 * entry["discordant"] / images, images)
        sentences.append(
            f"Student ({percent(accuracy[both])}) compared with the twin after as many updates"
            f" ({percent(accuracy[twin])}): {verdict.describe()}; one training each, so other seeds may differ."
        )
    added = "both, added"
    if added in names:
        sentences.append(
            f"The accuracy is {percent(accuracy[names.index(added)])} with the paper's sum of the softmaxes and"
            f" {percent(accuracy[both])} with the mean of the logits."
        )
    return " ".join(sentences)


def describe_agreement(predictions: PredictedClasses, labels: NDArray[np.int64]) -> str:
    """Return the accuracy of both combinations, and the agreement of student and twin with the teacher."""
    mean, total = predictions[MEAN], predictions[SUM]
    sentences = [
        f"Of {plural(len(labels), 'image')}, the mean of the logits (used here and in timm) gets"
        f" {percent(float((mean == labels).mean()))} right, the paper's sum of the softmaxes"
        f" {percent(float((total == labels).mean()))}; they differ on {plural(int((mean != total).sum()), 'image')}."
    ]
    teacher, twin = predictions.get(TEACHER), predictions.get(TWIN)
    if teacher is not None and twin is not None:
        student_share, twin_share = (float((classes == teacher).mean()) for classes in (mean, twin))
        sentences.append(
            f"The student agrees with its teacher on {percent(student_share)}, the twin without a teacher on"
            f" {percent(twin_share)}."
        )
    if teacher is not None and (teacher == labels).all():
        sentences.append("The teacher makes no mistake on these images, so no mistake can be repeated.")
    return " ".join(sentences)
