"""Compare a fine-tuned backbone with the same model from scratch: curves, spread over seeds, weight changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vitviz.text import percent, percent_difference, plural

FloatArray = NDArray[np.floating[Any]]
Verdict = Literal["tuned", "scratch", "neither"]
_LAYER = re.compile(r"blocks\.(\d+)\.|layers\.(\d+)\.(?:blocks\.(\d+)|(downsample))")
_NOTHING = 1e-4  # root mean square of a part that begins at almost zero: it has no length to compare with
_NAMES = {
    "patch_embed": "E",
    "stem": "stem",
    "cls_token": "[CLS]",
    "dist_token": "[DIST]",
    "reg_token": "registers",
    "pos_embed": "positions",
    "pos_proj": "positions",
    "norm": "last norm",
    "head": "head",
    "head_dist": "head",
}


@dataclass(frozen=True, eq=False)
class Group:
    """One way to begin, over its seeds: curves (2, n) of epochs and validation accuracy, test accuracies at the end."""

    name: str
    title: str
    curves: tuple[FloatArray, ...]
    tests: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the test accuracies; NaN before there are any."""
        return float(np.mean(self.tests)) if self.tests else float("nan")

    @property
    def spread(self) -> float:
        """From the lowest to the highest test accuracy."""
        return max(self.tests) - min(self.tests) if self.tests else float("nan")


def mean_curve(curves: Sequence[FloatArray]) -> FloatArray:
    """Return (2, n): the mean of the curves at the epochs that all of them have reached; empty before there is one."""
    common = set.intersection(*(set(np.round(curve[0], 6).tolist()) for curve in curves)) if curves else set()
    epochs = np.array(sorted(common))
    kept = [curve[1][np.isin(np.round(curve[0], 6), epochs)] for curve in curves]
    return np.stack([epochs, np.mean(kept, axis=0)]) if len(epochs) else np.empty((2, 0))


def verdict(tuned: Group, scratch: Group) -> Verdict | None:
    """Return whose every seed lies above every seed of the other; 'neither' where they overlap, None before the end."""
    if not tuned.tests or not scratch.tests:
        return None
    if min(tuned.tests) > max(scratch.tests):
        return "tuned"
    return "scratch" if min(scratch.tests) > max(tuned.tests) else "neither"


def describe(tuned: Group, scratch: Group, images: int) -> str:
    """Return what a finished race says, from its numbers; empty before the end.

    Args:
        images: test images that every accuracy was read on.
    """
    found = verdict(tuned, scratch)
    if found is None:
        return ""
    listed = "; ".join(f"{group.title} {_format_group(group)}" for group in (tuned, scratch))
    by = percent_difference(tuned.mean, scratch.mean)
    above = "above" if by > 0 else "below"
    how = "level with from scratch" if by == 0 else f"{abs(by):.1f} points {above} from scratch"
    sure = {
        "tuned": "and every seed lies above every seed from scratch",
        "scratch": "and every seed lies below every seed from scratch",
        "neither": "and the seeds overlap: this race decides nothing",
    }[found]
    if len(tuned.tests) == 1:
        return (
            f"Right on {plural(images, 'test image')}: {listed}. Fine-tuned is {how}, with one seed, so nothing is"
            " known of the spread."
        )
    return f"Right on {plural(images, 'test image')}: {listed}. Fine-tuned is {how} on the mean, {sure}."


def _format_group(group: Group) -> str:
    if len(group.tests) == 1:
        return percent(group.mean)
    ends = [percent(end(group.tests)) for end in (min, max)]
    return f"{percent(group.mean)} ({'every seed' if ends[0] == ends[1] else ' to '.join(ends)})"


def part_of(name: str) -> str:
    """Return which part of a model a weight belongs to, as it is said: 'E', 'positions', 'layer 3', 'head'."""
    found = _LAYER.match(name)
    if found is None:
        first = name.partition(".")[0]
        return _NAMES.get(first, first)
    if found.group(1) is not None:
        return f"layer {int(found.group(1)) + 1}"
    stage = int(found.group(2)) + 1
    return f"stage {stage} merging" if found.group(4) else f"layer {stage}.{int(found.group(3)) + 1}"


def is_statistic(name: str) -> bool:
    """Return True if it is a batch norm's running statistic and no weight."""
    return "running_" in name or "num_batches" in name


def measure_weight_changes(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray]
) -> dict[str, float]:
    """Return how far each part's weights have moved: ‖after − before‖ / ‖before‖, all its numbers taken as one vector.

    Counts and running statistics are no weights and are left out; so is a part that begins at almost zero, such as a
    random [CLS], which has no length to compare with.

    Args:
        before, after: weights by name, of one shape.

    Raises:
        ValueError: if they are not of one model.
    """
    if before.keys() != after.keys():
        raise ValueError("before and after must hold the same weights")
    squares: dict[str, list[float]] = {}
    for name, old in before.items():
        if is_statistic(name):
            continue
        step = np.asarray(after[name], np.float64) - np.asarray(old, np.float64)
        entry = squares.setdefault(part_of(name), [0.0, 0.0, 0.0])
        entry[0] += float((step**2).sum())
        entry[1] += float((np.asarray(old, np.float64) ** 2).sum())
        entry[2] += step.size
    found = {part: squares[part] for part in in_order(squares)}
    return {
        part: float(np.sqrt(step / size))
        for part, (step, size, count) in found.items()
        if size > count * _NOTHING**2
    }


def in_order(parts: Iterable[str]) -> list[str]:
    """Return the parts in the order of the data: what makes the tokens, the tokens, positions, layers, norm, head."""
    first, last = ("stem", "E", "[CLS]", "[DIST]", "registers", "positions"), ("last norm", "head")

    def place(part: str) -> int:
        return (
            first.index(part)
            if part in first
            else len(first) + 1 + last.index(part)
            if part in last
            else len(first)
        )

    return sorted(parts, key=place)


def body_of(found: Mapping[str, float]) -> dict[str, float]:
    """Return how far the parts of the backbone moved: all but the head."""
    return {part: value for part, value in found.items() if part != "head"}


def judge_moved(body: Mapping[str, float], guess: str) -> str:
    """Return True if the part that was guessed to move furthest does, and how far it lies behind the one that does."""
    most = max(body, key=body.__getitem__)
    said = f"You said {guess}: it moves by {_far(body[guess])} of its own length"
    return f"{said}, right." if guess == most else f"{said}, {most} by {_far(body[most])}."


def describe_moved(
    tuned: Mapping[str, float], scratch: Mapping[str, float], rates: tuple[float, float]
) -> str:
    """Describe which part of a fine-tuned backbone moved most and least, and how far the model from scratch moved.

    Args:
        tuned, scratch: how far each part of both moved.
        rates: the learning rates of the fine-tuned backbone and of the model from scratch.
    """
    body = body_of(tuned)
    if not any(body.values()):
        return (
            "The backbone was frozen and has not moved at all; the new head has, by "
            + percent(tuned["head"])
            + "."
        )
    most, least = max(body, key=body.__getitem__), min(body, key=body.__getitem__)
    share = float(np.median([scratch[part] / body[part] for part in body if part in scratch and body[part]]))
    return (
        f"Of the backbone {most} moved furthest, by {_far(body[most])} of its own length, and {least} least, by"
        f" {_far(body[least])}. From scratch a part moves {share:.1f} times as far on the median{_by_rate(*rates)}."
    )


def _by_rate(body: float, scratch: float) -> str:
    """Return what is to be known of two learning rates before distances are compared."""
    if body == scratch:
        return ", at the same learning rate"
    return f", at a learning rate of {scratch:g} against {body:g}: part of that is the rate"


def _far(share: float) -> str:
    """Return a share with its first figure that is not zero: what moved a little is not said to have moved by 0.0 %."""
    digits = max(1, -int(np.floor(np.log10(100 * share)))) if share > 0 else 1
    return percent(share, digits)
