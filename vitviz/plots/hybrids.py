"""Pack a hybrid's stem for the browser; draw training over time of several models, and a net's spread over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.analysis.receptive_fields import enlarging
from vitviz.config import ViTConfig
from vitviz.plots import theme
from vitviz.plots.blob import pack
from vitviz.plots.chart import Chart
from vitviz.plots.photo import Photo
from vitviz.plots.scoreboard import FAMILY


def pack_pipeline(
    photo: Photo,
    maps: Sequence[NDArray[np.floating]],
    tokens: NDArray[np.floating],
    patches: NDArray[np.floating],
    config: ViTConfig,
    pin: tuple[float, float],
    strides: Sequence[int],
    plain: tuple[str, NDArray[np.floating]] | None = None,
) -> bytes:
    """Pack a hybrid's stem for `pipeline_view.js`.

    Args:
        maps: (channels, rows, cols) after each convolution; a channel is sent in 255 levels of its own largest value.
        tokens: (N, D).
        patches: (N, values) of a plain ViT on the same image.
        pin: (x, y) in [0, 1] of the selected token.
        strides: of the convolutions; () as long as the receptive fields are hidden.
        plain: title and tokens (N, D) of a plain ViT on the same image.
    """
    levels: list[dict[str, Any]] = []
    arrays: dict[str, NDArray[Any]] = {}
    for index, level in enumerate(maps):
        most = level.max(axis=(1, 2))
        scaled = level / np.where(most > 0, most, 1.0)[:, None, None]
        arrays[f"maps{index}"] = np.ceil(255 * scaled.clip(0, 1)).astype(np.uint8)  # 0 is what ReLU sets to 0
        strongest = np.argsort(-level.mean(axis=(1, 2)), kind="stable")
        levels.append({"order": strongest.tolist(), "most": [round(float(value), 3) for value in most]})
    header = {
        "levels": levels,
        "grid": list(config.grid),
        "dim": config.embed_dim,
        "patch": config.patch_size,
        "channels": config.in_chans,
        "pixels": list(config.image_shape),
        "factor": enlarging(config),
        "strides": list(strides),
        "pin": list(pin),
        "plain": plain[0] if plain else "",
    }
    if plain:
        arrays["plain"] = plain[1].astype(np.float32)
    pixels = np.round(255 * patches.clip(0, 1)).astype(np.uint8)
    small = tokens.astype(np.float32)
    return pack(header | photo.header, photo=photo.array, tokens=small, patches=pixels, **arrays)


@dataclass(frozen=True, eq=False)
class Course:
    """One training: (n,) images that it has seen, its validation accuracy, and the ends (n, 2) of intervals."""

    family: str
    x: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    ends: NDArray[np.float64]


def courses_figure(courses: Sequence[Course], mode: theme.Mode = "light") -> Chart:
    """Draw the validation accuracy over images with its interval; a line has its name at its end."""
    figure = Chart(mode)
    for course in courses:
        low, high = 100 * course.ends.T
        figure.band(course.x, low, high, FAMILY[course.family])
        figure.add(
            "scatter",
            x=course.x,
            y=100 * course.accuracy,
            mode="lines+text",
            name=course.family,
            line={"color": FAMILY[course.family], "width": 2},
            hovertemplate="%{x:,.0f} images: %{y:.1f} %",
        )
    last = max((float(course.x[-1]) for course in courses), default=1.0)
    figure.layout(
        height=400,
        xaxis={"title": {"text": "images seen"}, "range": [0, last], "tickformat": ",.0f", "nticks": 6},
        yaxis={"title": {"text": "validation accuracy, %"}},
    )
    return figure


def seeds_figure(
    names: Sequence[str],
    accuracies: Sequence[Sequence[float]],
    intervals: Sequence[tuple[float, float]],
    marked: int,
    mode: theme.Mode = "light",
    printed: Sequence[float] = (),
) -> Chart:
    """Draw the accuracy of every seed as a dot in the row of its net, and their mean as a bar with its interval.

    Args:
        accuracies: of each row's seeds, in [0, 1].
        intervals: of each row's mean.
        marked: the control's row.
        printed: an accuracy of each row that a lecture printed: a cross, or one line if all are the same.
    """
    palette, figure = theme.PALETTES[mode], Chart(mode)
    for row, values in enumerate(accuracies):
        color, symbol = (palette.muted, "diamond") if row == marked else (palette.primary, "circle")
        shares = [100 * share for share in values]
        low, high = (100 * end for end in intervals[row])
        hover = f"{names[row]}: %{{x:.2f}} %"
        figure.seeds(shares, row, 0.3, (color, symbol, palette.ink), hover, (low, high))
    if len({*printed}) == 1:
        line = {"color": palette.muted, "width": 2, "dash": "dash"}
        figure.vline(100 * printed[0], line, {"text": "printed", "font": {"color": palette.ink}, "xshift": 4})
        printed = ()
    for row, share in enumerate(printed):
        figure.add(
            "scatter",
            x=[100 * share],
            y=[row],
            orientation="h",
            mode="markers",
            marker={"size": 12, "color": palette.ink, "symbol": "x"},
            hovertemplate="printed in the lecture: %{x:.2f} %",
        )
    crosses = " (× printed in the lecture)" if printed else ""
    figure.layout(
        height=min(52 * len(names), 600) + 70,
        xaxis={"title": {"text": f"test accuracy, %{crosses}"}},
        yaxis={
            "tickvals": list(range(len(names))),
            "ticktext": list(names),
            "autorange": "reversed",
            "showgrid": False,
        },
    )
    return figure
