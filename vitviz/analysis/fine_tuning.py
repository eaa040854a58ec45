"""Compare a fine-tuned backbone with the same model from scratch: curves, spread over seeds, weight changes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.verdict import Verdict, compare
from vitviz.text import percent, plural

FloatArray = NDArray[np.floating[Any]]
_LAYER = re.compile(r"blocks\.(\d+)\.|layers\.(\d+)\.(?:blocks\.(\d+)|(downsample))")
_NOTHING = 1e-4  # root mean square below which a part has no initial norm to compare with
_NAMES = {
    "patch_embed": "E",
    "stem": "stem",
    "cls_token": "[CLS]",
    "dist_token": "[DIST]",
    "reg_token": "registers",
    "pos_embed": "positions",
    "pos_proj": "positions",
    "norm": "final LayerNorm",
    "head": "head",
    "head_dist": "head",
}


@dataclass(frozen=True, eq=False)
class Group:
    """One initialisation over its seeds: curves (2, n) of epochs and validation accuracy, test accuracies."""

    name: str
    title: str
    curves: tuple[FloatArray, ...]
    tests: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the test accuracies; NaN before there are any."""
        return float(np.mean(self.tests)) if self.tests else float("nan")


def mean_curve(curves: Sequence[FloatArray]) -> FloatArray:
    """Return (2, n): the mean of the curves at the epochs that all of them have reached; empty before there is one."""
    common = set.intersection(*(set(np.round(curve[0], 6).tolist()) for curve in curves)) if curves else set()
    epochs = np.array(sorted(common))
    accuracies = [curve[1][np.isin(np.round(curve[0], 6), epochs)] for curve in curves]
    return np.stack([epochs, np.mean(accuracies, axis=0)]) if len(epochs) else np.empty((2, 0))


def compare_groups(tuned: Group, scratch: Group, images: int) -> Verdict | None:
    """Compare the test accuracies of both groups, paired by seed; None if unfinished."""
    if not tuned.tests or not scratch.tests:
        return None
    return compare(dict(enumerate(tuned.tests)), dict(enumerate(scratch.tests)), images=images)


def describe_test_accuracies(tuned: Group, scratch: Group, images: int) -> str:
    """Describe the test accuracies of a finished race; empty before the end."""
    verdict = compare_groups(tuned, scratch, images)
    if verdict is None:
        return ""
    listed = "; ".join(f"{group.title} {_format_group(group)}" for group in (tuned, scratch))
    return (
        f"Test accuracy ({plural(images, 'test image')}): {listed}. Fine-tuned compared with from scratch:"
        f" {verdict.describe()}."
    )


def _format_group(group: Group) -> str:
    if len(group.tests) == 1:
        return percent(group.mean)
    ends = [percent(end(group.tests)) for end in (min, max)]
    return f"{percent(group.mean)} ({'every seed' if ends[0] == ends[1] else ' to '.join(ends)})"


def name_part(name: str) -> str:
    """Return the part of a model that a weight belongs to: 'E', 'positions', 'layer 3', 'head'."""
    match = _LAYER.match(name)
    if match is None:
        first = name.partition(".")[0]
        return _NAMES.get(first, first)
    if match.group(1) is not None:
        return f"layer {int(match.group(1)) + 1}"
    stage = int(match.group(2)) + 1
    return f"stage {stage} merging" if match.group(4) else f"layer {stage}.{int(match.group(3)) + 1}"


def is_statistic(name: str) -> bool:
    """Return True for a running statistic of a batch norm."""
    return "running_" in name or "num_batches" in name


def measure_weight_changes(
    before: Mapping[str, FloatArray], after: Mapping[str, FloatArray]
) -> dict[str, float]:
    """Return each part's relative weight change ‖after − before‖ / ‖before‖, with its weights as one vector.

    Counts, running statistics and parts that start near zero, such as a random [CLS], are skipped.

    Args:
        before, after: weights by name, of one shape.
    """
    squares: dict[str, list[float]] = {}
    for name, old in before.items():
        if is_statistic(name):
            continue
        step = np.asarray(after[name], np.float64) - np.asarray(old, np.float64)
        entry = squares.setdefault(name_part(name), [0.0, 0.0, 0.0])
        entry[0] += float((step**2).sum())
        entry[1] += float((np.asarray(old, np.float64) ** 2).sum())
        entry[2] += step.size
    ordered = {part: squares[part] for part in sort_parts(squares)}
    return {
        part: float(np.sqrt(step / size))
        for part, (step, size, count) in ordered.items()
        if size > count * _NOTHING**2
    }


def sort_parts(parts: Iterable[str]) -> list[str]:
    """Sort parts in the order of the forward pass: stem, embedding, tokens, positions, layers, norm, head."""
    first, last = ("stem", "E", "[CLS]", "[DIST]", "registers", "positions"), ("final LayerNorm", "head")

    def rank(part: str) -> int:
        if part in first:
            return first.index(part)
        return len(first) + (1 + last.index(part) if part in last else 0)

    return sorted(parts, key=rank)


def select_backbone(changes: Mapping[str, float]) -> dict[str, float]:
    """Return the changes of the backbone's parts: all but the head."""
    return {part: change for part, change in changes.items() if part != "head"}


def describe_weight_changes(
    tuned: Mapping[str, float], scratch: Mapping[str, float], rates: tuple[float, float]
) -> str:
    """Describe the parts of a fine-tuned backbone that change most and least, compared with training from scratch.

    Args:
        tuned, scratch: relative change of each part.
        rates: the learning rates of the fine-tuned backbone and of the model from scratch.
    """
    body = select_backbone(tuned)
    if not any(body.values()):
        return (
            f"The frozen backbone is unchanged; the new head changes by {percent(tuned['head'])} of its norm."
        )
    most, least = max(body, key=body.__getitem__), min(body, key=body.__getitem__)
    share = float(np.median([scratch[part] / body[part] for part in body if part in scratch and body[part]]))
    return (
        f"In the backbone {most} changes most, by {format_share(body[most])} of its norm, and {least} least, by"
        f" {format_share(body[least])}. From scratch the median part changes {share:.1f} times as much"
        f"{_describe_rates(*rates)}."
    )


def _describe_rates(body: float, scratch: float) -> str:
    if body == scratch:
        return ", at the same learning rate"
    return f", partly because its learning rate is {scratch:g} instead of {body:g}"


def format_share(share: float) -> str:
    """Format a share with at least one non-zero digit."""
    digits = max(1, -int(np.floor(np.log10(100 * share)))) if share > 0 else 1
    return percent(share, digits)
