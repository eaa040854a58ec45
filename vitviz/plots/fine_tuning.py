"""Draw fine-tuning: kept weights, the live race, weight changes, and accuracy over the number of images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, log10, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.data_size import Curve
from vitviz.analysis.fine_tuning import Group, mean_curve, sort_parts
from vitviz.plots import theme
from vitviz.plots.blob import describe, pack
from vitviz.plots.chart import Chart, Panel, log_axis, sizes_axis
from vitviz.plots.hidden_curves import conceal
from vitviz.plots.race import RaceCurves, ResultRow, draw_curves, draw_rows, find_interval, pack_results
from vitviz.text import percent, round_share

COLOURS = {
    "tuned": theme.HEADS[4],
    "frozen": theme.HEADS[1],
    "scratch": theme.HEADS[6],
    "longer": theme.HEADS[0],
}
MARKS = (0, 50, 80, 90, 95, 98, 99, 99.5)  # ticks of the axis, in percent
FEWEST_WRONG = 0.4  # percent, the end of the axis: one of 359 digits is 0.3
CURVES_PX = 330  # the parts of the model stand above the curves, on one screen
SYMBOLS = {"tuned": "circle", "frozen": "diamond", "scratch": "square", "longer": "triangle-up"}


@dataclass(frozen=True)
class ModelPart:
    """A part of the new model: parameter count, shape of its largest tensor now and before, and its origin."""

    title: str
    count: int
    shape: tuple[int, ...]
    before: tuple[int, ...] | None
    fate: str  # kept, new or resized


def plan(
    parts: Sequence[ModelPart],
    positions: tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]] | None,
    grids: tuple[tuple[int, int], tuple[int, int]] | None,
    frozen: bool = False,
    examples: tuple[str, NDArray[np.uint8]] | None = None,
) -> bytes:
    """Return the kept, new and resized parts for `plan_view`.

    Args:
        examples: title and images (n, rows, columns, 1 or 3) of the target dataset.
        positions: cosines of all pairs before (N, N) and after (M, M), where positions are resized.
        grids: rows and columns before and after, where positions are resized.
        frozen: True if only the head is trained.
    """
    total = sum(part.count for part in parts)
    kept = sum(part.count for part in parts if part.fate == "kept")
    header: dict[str, Any] = {
        "parts": [
            {
                **describe(part),
                "shape": " × ".join(map(str, part.shape)),
                "before": None if part.before is None else " × ".join(map(str, part.before)),
            }
            for part in parts
        ],
        "kept": f"{round_share(kept / total)} of {total:,} parameters are kept",
        "frozen": frozen,
        "grids": None if grids is None else [list(grid) for grid in grids],
    }
    arrays = {}
    if examples is not None:
        title, images = examples
        header["examples"] = title
        opaque = np.full((*images.shape[:3], 1), 255, np.uint8)
        arrays["examples"] = np.concatenate([np.broadcast_to(images, (*images.shape[:3], 3)), opaque], axis=3)
    if positions is not None:
        for name, cosines in zip(("before", "after"), positions, strict=True):
            arrays[name] = np.round((np.clip(cosines, -1, 1) + 1) * 127.5).astype(np.uint8)
    return pack(header, **arrays)


def learning(
    groups: Sequence[Group],
    chance: float,
    epochs: float,
    waiting: str,
    *,
    images: int,
    concealed: bool = False,
) -> bytes:
    """Return the message of the live race: every seed's curve, their mean, and the test accuracies.

    Args:
        chance: accuracy of guessing, in [0, 1].
        epochs: of the whole run, which fixes the axis.
        images: of the test.
        concealed: True for the range of all curves in place of them, without a number of either group.
    """
    models = [
        RaceCurves(group.title, COLOURS[group.name], mean_curve(group.curves), group.curves)
        for group in groups
    ]
    curves = draw_curves(models, chance, epochs, waiting, CURVES_PX)
    rows = [] if concealed else [_describe_group(group, images) for group in groups]
    note = "grey: range of both models" if concealed else "thick: mean over seeds"
    return pack_results(
        conceal(curves) if concealed else curves,
        f"on validation images, tested at the end; {note}",
        Panel(
            "Test accuracy",
            "one dot per seed; lines: mean and its 95 % interval",
            draw_rows(rows, chance, (0.0, 1.0), "accuracy, %"),
        ),
    )


def _describe_group(group: Group, images: int) -> ResultRow:
    tests = group.tests
    ends = f" · from {percent(min(tests))} to {percent(max(tests))}" if tests else ""
    result = f"{percent(sum(tests) / len(tests))}{ends}" if tests else ""
    return ResultRow(group.title, COLOURS[group.name], tests, find_interval(tests, images), result)


def weight_changes_figure(
    changes: Mapping[str, Mapping[str, float]], titles: Mapping[str, str], mode: theme.Mode
) -> Chart:
    """Draw the weight change of each part, in percent of its initial norm, on a logarithmic axis.

    Args:
        changes: by model, by part; an unchanged part has no point.
    """
    figure = Chart(mode)
    every = sort_parts(dict.fromkeys(part for parts in changes.values() for part in parts))
    for name, parts in changes.items():
        shares = [100 * parts[part] if parts.get(part) else None for part in every]
        figure.curve(titles[name], every, shares, (COLOURS[name], SYMBOLS[name]), "%{x}: %{y:.2f} %")
    drawn = [100 * share for parts in changes.values() for share in parts.values() if share]
    yaxis = {"title": {"text": "weight change, % of the norm"}, **log_axis(drawn or [1.0])}
    return figure.with_legend(360, yaxis=yaxis)


def recipe_figure(head_rate: float, backbone_rate: float, count: int, mode: theme.Mode) -> Chart:
    """Draw the learning rates of a new head and of its backbone in each of `count` epochs along a cosine."""
    figure, epochs = Chart(mode), range(1, count + 1)
    curves = (("tuned", "new head", head_rate), ("scratch", "pretrained backbone", backbone_rate))
    for name, title, rate in curves:
        rates = [rate * (1 + cos(pi * (epoch - 1) / count)) / 2 for epoch in epochs]
        style = COLOURS[name], SYMBOLS[name]
        figure.curve(title, epochs, rates, style, f"{title}, epoch %{{x}}: %{{y:.2e}}")
    yaxis = {"title": {"text": "learning rate"}, **log_axis([head_rate, backbone_rate / count**2])}
    return figure.with_legend(330, xaxis={"title": {"text": "epoch"}, "dtick": 1}, yaxis=yaxis)


def image_count_figure(
    curves: Sequence[Curve], sizes: Sequence[int], chance: float, mode: theme.Mode
) -> Chart:
    """Draw test accuracy over images per class, one line per method with its intervals.

    The vertical axis is logarithmic in the error rate, so that halving the mistakes is the same step everywhere.
    """
    figure = Chart(mode)
    figure.hline(100 * (1 - chance), f"chance {percent(chance, 0)}")
    for curve in curves:
        mean, high, low = (
            (100 * (1 - shares)).clip(FEWEST_WRONG) for shares in (curve.mean, curve.low, curve.high)
        )  # of errors
        figure.curve(
            curve.title,
            curve.images.tolist(),
            mean,
            (COLOURS[curve.name], SYMBOLS[curve.name]),
            "%{x} per class: %{customdata:.1f} %",
            (low, high),
            customdata=(100 * curve.mean).tolist(),
        )
    return figure.with_legend(
        420,
        xaxis=sizes_axis(sizes, "training images per class"),
        yaxis={
            "type": "log",
            "title": {"text": "test accuracy, %"},
            "range": [2.0, log10(FEWEST_WRONG)],
            "tickvals": [100 - accuracy for accuracy in MARKS],
            "ticktext": [f"{accuracy:g}" for accuracy in MARKS],
        },
    )
