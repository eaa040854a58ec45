"""Attention distance as images: heads against depth, one head's distribution, reach per layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vitviz.plots import theme
from vitviz.plots.blob import pack
from vitviz.plots.chart import Chart
from vitviz.plots.training_moments import TrainingMoments

FloatArray = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class HeadSeries:
    """One model's heads: a value and its uncertainty for each step, layer and head."""

    label: str
    values: FloatArray  # (steps, depth, heads)
    spread: FloatArray  # (steps, depth, heads), half of the bar
    offsets: FloatArray | None = None  # (depth, heads, 2 rows - 1, 2 cols - 1), of the step shown first
    spread_label: str = ""  # what a bar shows


@dataclass(frozen=True)
class ReferenceLine:
    """A horizontal reference line with its label."""

    value: float
    label: str


def heads_view(
    series: Sequence[HeadSeries],
    steps: Sequence[int],
    axis: str,
    unit: str,
    lines: Sequence[ReferenceLine],
    patch_px: float,
    shown_step: int,
    training: TrainingMoments | None = None,
) -> bytes:
    """Return the component data of heads against depth; the first series is filled, the others are outlined.

    Args:
        shown_step: the last one of `steps` with this number is shown first.
        training: the moments of `steps`; by default all belong to one run.

    Raises:
        ValueError: if a series does not have one value per step.
    """
    for heads in series:
        if len(heads.values) != len(steps) or heads.values.shape != heads.spread.shape:
            raise ValueError(
                f"{heads.label} needs {len(steps)} steps, received {heads.values.shape} and {heads.spread.shape}"
            )
    arrays: dict[str, NDArray[Any]] = {}
    for index, heads in enumerate(series):
        arrays[f"values{index}"] = np.ascontiguousarray(heads.values, np.float32)
        arrays[f"spread{index}"] = np.ascontiguousarray(heads.spread, np.float32)
        if heads.offsets is not None:
            top = heads.offsets.max(axis=(-2, -1), keepdims=True)
            arrays[f"offsets{index}"] = np.round(
                255 * np.sqrt(heads.offsets / np.maximum(top, 1e-12))
            ).astype(np.uint8)
            arrays[f"tops{index}"] = top[..., 0, 0].astype(np.float32)
    header = {
        "series": [heads.label for heads in series],
        "bars": [heads.spread_label for heads in series],
        "steps": list(steps),
        "shown": len(steps) - 1 - [*reversed(steps)].index(shown_step),
        "training": training or TrainingMoments(list(steps), (), len(steps)),
        "axis": axis,
        "unit": unit,
        "lines": [{"value": line.value, "label": line.label} for line in lines],
        "patch_px": patch_px,
    }
    return pack(header, **arrays)


def distribution_figure(
    edges_px: FloatArray, mass: FloatArray, mean_px: float, color: str, mode: theme.Mode
) -> Chart:
    """Return one head's attention between patches by distance, with its mean as a line."""
    palette = theme.PALETTES[mode]
    figure = Chart(mode)
    figure.add(
        "bar",
        x=(edges_px[1:] + edges_px[:-1]) / 2,
        y=100 * mass,
        width=np.diff(edges_px) * 0.86,
        marker={"color": color, "line": {"width": 0}},
        hovertemplate="%{x:.1f} px: %{y:.1f} %",
    )
    figure.vline(
        x=mean_px,
        line={"color": palette.ink, "width": 1, "dash": "dot"},
        note={"text": f"mean {mean_px:.1f} px", "font": {"color": palette.muted}, "yanchor": "top"},
    )
    figure.layout(height=240)
    figure.layout(xaxis={"title": {"text": "distance, px"}, "range": [0, float(edges_px[-1])]})
    figure.layout(yaxis={"title": {"text": "share of attention, %"}, "rangemode": "tozero", "nticks": 4})
    return figure


@dataclass(frozen=True, eq=False)
class ReachCurve:
    """A distance after each layer, in px.

    Attributes:
        half_width: of its 95 % interval over images; None without one.
        images: 0 of a curve that is computed, which is dashed.
    """

    label: str
    values: FloatArray
    half_width: FloatArray | None = None
    images: int = 0


def reach_figure(names: Sequence[str], curves: Sequence[ReachCurve], mode: theme.Mode) -> Chart:
    """Return how far information has travelled after each layer, in pixels: one line per kind of reach."""
    figure = Chart(mode)
    for index, curve in enumerate(curves):
        color = theme.HEADS[(3, 4, 1, 5)[index % 4]]
        values, half = curve.values, curve.half_width
        count = f" ({curve.images} images)" if curve.images else ""
        notes = [count] * len(values) if half is None else [f" ± {width:.1f} px{count}" for width in half]
        figure.curve(
            curve.label,
            range(1, len(names) + 1),
            values,
            (color, theme.SYMBOLS[index % len(theme.SYMBOLS)]),
            "%{customdata[0]}: %{y:.1f} px%{customdata[1]}",
            None if half is None else (values - half, values + half),
            line={"dash": "solid" if curve.images else "dash"},
            customdata=[[name, note] for name, note in zip(names, notes, strict=False)],
        )
    return figure.with_legend(
        340,
        xaxis={
            "tickvals": list(range(1, len(names) + 1)),
            "ticktext": list(names),
            "title": {"text": "layer"},
        },
        yaxis={"title": {"text": "distance from the centre, px"}, "rangemode": "tozero"},
    )


def reach_map(distance_px: FloatArray, mode: theme.Mode) -> Chart:
    """Return how far each query patch of one head looks, as a map with its scale."""
    figure = Chart(mode)
    figure.add(
        "heatmap",
        z=np.asarray(distance_px, np.float32),
        x=np.arange(1, distance_px.shape[1] + 1),
        y=np.arange(1, distance_px.shape[0] + 1),
        colorscale=theme.colorscale(theme.SEQUENTIAL),
        xgap=1,
        ygap=1,
        colorbar={"thickness": 8, "outlinewidth": 0, "title": {"text": "px", "side": "right"}, "nticks": 4},
        hovertemplate="row %{y}, column %{x}: %{z:.1f} px",
    )
    figure.layout(height=240)
    figure.layout(xaxis={"visible": False})
    figure.layout(yaxis={"visible": False, "autorange": "reversed", "scaleanchor": "x"})
    return figure
